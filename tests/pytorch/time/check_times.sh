#!/usr/bin/env bash
# Compares forecasts with published times of steps: check_times.sh TIDEMARK PYTHON FIT_STEP_TIME SHARED Fails if the
# errors are larger than those of docs/internals/time-model.md by more than recordings differ. One recording gave 2.7 % in the
# middle and 7.3 % for nine in ten, one on a busy machine 2.9 and 8.3. The bounds are the worse one and once more the
# difference. SHARED, or TIDEMARK_SHARED, has the table of times.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
times=${TIDEMARK_SHARED:-$4}/facts/step-times.csv
[ -e "$times" ] || {
    echo "skipped: no facts/step-times.csv in TIDEMARK_SHARED, and without it there is nothing to compare with"
    exit 0
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bash "$here/make_logs.sh" "$1" "$2" "$times" "$folder"
"$3" "$times" "$folder" --check 3.1 9.3
