#!/usr/bin/env bash
# Runs the command-line cases and compares their output with the expected output:
#     run.sh [--update] BUILD [CASE...]
# BUILD is a build folder (or the program itself). A case is cases/NAME.sh with NAME.stdout, NAME.stderr and NAME.exit
# beside it. It runs in an empty folder with LC_ALL=C, with `tidemark` on the PATH and $golden naming this folder.
# A case skips itself with exit status 77. --update stores the current output as the expected output.
set -u
update=
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
[ $# -ge 1 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
build=$1
shift
program=$build
[ -d "$build" ] && program=$build/cli/tidemark
program=$(realpath "$program") && [ -x "$program" ] || { echo "golden: no program at $program" >&2; exit 2; }
golden=$(cd "$(dirname "$0")" && pwd)
export golden LC_ALL=C TZ=UTC
unset TIDEMARK_ALLOC_CONF TIDEMARK_LIBUNWIND TIDEMARK_CUBLAS TIDEMARK_CPU_KERNELS OMP_NUM_THREADS

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/tidemark"
export PATH="$scratch/bin:$PATH"
# Without the user's calibration and without logs of other runs.
export XDG_CONFIG_HOME="$scratch/config" XDG_STATE_HOME="$scratch/state"

# compare NAME KIND: fails and prints the difference on stderr unless the output equals the expected output.
compare() {
    if [ -n "$update" ]; then
        cp "$scratch/$2" "$golden/cases/$1.$2"
    elif [ ! -e "$golden/cases/$1.$2" ]; then
        echo "golden: $1.$2 is missing: ./dev golden writes it" >&2
        return 1
    else
        diff -u --label "expected $1.$2" --label "printed now" "$golden/cases/$1.$2" "$scratch/$2" >&2
    fi
}

# run_case NAME: returns 0 when the case passes, 1 when it fails and 77 when it skips itself.
run_case() {
    local status=0 work=$scratch/work
    rm -rf "$work"
    mkdir "$work"
    (cd "$work" && bash "$golden/cases/$1.sh") >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
    if [ "$status" -eq 77 ]; then
        cat "$scratch/stderr" >&2
        return 77
    fi
    echo "$status" >"$scratch/exit"
    local failed=0 kind
    for kind in stdout stderr exit; do
        compare "$1" "$kind" || failed=1
    done
    return "$failed"
}

if [ $# -eq 0 ]; then
    for file in "$golden"/cases/*.sh; do
        set -- "$@" "$(basename "$file" .sh)"
    done
fi
n_failed=0
n_skipped=0
for name in "$@"; do
    [ -e "$golden/cases/$name.sh" ] || { echo "golden: there is no case $name" >&2; exit 2; }
    status=0
    run_case "$name" || status=$?
    case "$status" in
    0) ;;
    77) n_skipped=$((n_skipped + 1)) ;;
    *)
        echo "golden: $name failed" >&2
        n_failed=$((n_failed + 1))
        ;;
    esac
done
echo "golden: $# cases, $n_failed failed, $n_skipped skipped"
[ "$n_failed" -eq 0 ] || exit 1
[ "$n_skipped" -lt $# ] || exit 77
