#!/usr/bin/env bash
# Forecasts beside published times of steps: check_times.sh TIDEMARK PYTHON FIT_STEP_TIME SHARED
# Fails where the errors are larger than those of docs/virtual-time.md, 2.7 % in the middle and 7.3 % for nine in ten, by more than
# recordings differ: two of one program, made half an hour apart, differed by less than 0.1 and by 0.2 %, and twice that is allowed.
# SHARED, or TIDEMARK_SHARED, has the table of times.
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
"$3" "$times" "$folder" --check 2.9 7.7
