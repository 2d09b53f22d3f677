#!/usr/bin/env bash
# Runs the tidemark commands of a page's ```sh blocks in an empty folder: run_page.sh PAGE TIDEMARK
# A command must succeed, or exit with N when the comment "# exit N" follows it.
set -eu
page=$1
program=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/work"
ln -s "$program" "$scratch/bin/tidemark"
export PATH="$scratch/bin:$PATH" LC_ALL=C
export OMP_WAIT_POLICY=passive # threads that wait leave the cores to other tests
cd "$scratch/work"

n_commands=0
while IFS= read -r command; do
    expected=$(printf '%s\n' "$command" | sed -nE 's/.*# exit ([0-9]+)$/\1/p')
    status=0
    bash -c "$command" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
    if [ "$status" -ne "${expected:-0}" ]; then
        printf '%s\nexit status %s, expected %s\n' "$command" "$status" "${expected:-0}" >&2
        tail -n 20 "$scratch/stdout" "$scratch/stderr" >&2
        exit 1
    fi
    if [ ! -s "$scratch/stdout" ] && [ ! -s "$scratch/stderr" ]; then
        printf '%s\nprinted nothing\n' "$command" >&2
        exit 1
    fi
    n_commands=$((n_commands + 1))
done < <(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside && /^tidemark /' "$page")

if [ "$n_commands" -eq 0 ]; then
    echo "$page: no commands found" >&2
    exit 1
fi
echo "$n_commands commands of $page ran as the page says"
