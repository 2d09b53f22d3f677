#!/usr/bin/env bash
# Compares the program's table of comparisons with published times of kernels: check_kernel_times.sh TIDEMARK CACHES FIT_KERNELS SHARED
# Fails if programs/step_time/compared_table.c, or the number of times that answers say were held, is not what fit_kernels finds.
# SHARED, or TIDEMARK_SHARED, has the published times. TIDEMARK_KERNEL_LOGS: a folder for the launch logs, which stay there and are
# not made again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
logs=${TIDEMARK_KERNEL_LOGS:-$folder}
status=0
python3 -B "$here/../../step_time/make_kernel_logs.py" --tidemark "$1" --caches "$2" --published "${TIDEMARK_SHARED:-$4}/published" \
    "$logs" || status=$?
[ $status -ne 77 ] || exit 0 # which says why it is skipped
[ $status -eq 0 ] || exit $status
"$3" "$logs/cases.tsv" --check
