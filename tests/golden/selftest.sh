#!/usr/bin/env bash
# Tests the runner itself: a difference must fail the case and name it.
set -u
golden=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/cases"
cp "$golden/run.sh" "$scratch/"
failures=0

# expect STATUS TEXT: run.sh must exit with STATUS and print TEXT.
expect() {
    local status=0
    bash "$scratch/run.sh" "$(type -P true)" one >"$scratch/out" 2>&1 || status=$?
    if [ "$status" -ne "$1" ] || ! grep -q -e "$2" "$scratch/out"; then
        echo "expected status $1 and '$2', got $status and:" >&2
        cat "$scratch/out" >&2
        failures=$((failures + 1))
    fi
}

printf 'echo out\necho err >&2\nexit 3\n' >"$scratch/cases/one.sh"
echo out >"$scratch/cases/one.stdout"
echo err >"$scratch/cases/one.stderr"
expect 1 "one.exit is missing"
echo 3 >"$scratch/cases/one.exit"
expect 0 "1 cases, 0 failed"
echo 0 >"$scratch/cases/one.exit"
expect 1 "one failed"
echo 3 >"$scratch/cases/one.exit"
echo other >"$scratch/cases/one.stderr"
expect 1 "^+"
echo err >"$scratch/cases/one.stderr"
echo other >"$scratch/cases/one.stdout"
expect 1 "^+"
printf 'echo why >&2\nexit 77\n' >"$scratch/cases/one.sh"
expect 77 "1 skipped"
[ "$failures" -eq 0 ]
