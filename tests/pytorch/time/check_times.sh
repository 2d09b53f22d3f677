#!/usr/bin/env bash
# Forecasts beside published times of steps: check_times.sh TIDEMARK PYTHON FIT_STEP_TIME SHARED
# Fails where the errors are larger than they were when the constants were chosen (docs/virtual-time.md), with room for the
# launches of other versions of PyTorch. SHARED, or TIDEMARK_SHARED, has the table of times.
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
"$3" "$times" "$folder" --check 3 8
