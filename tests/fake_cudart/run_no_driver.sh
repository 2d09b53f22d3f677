#!/usr/bin/env bash
# A build with CUDA on a machine without a driver starts, reports why there is no cuda device, and computes on the cpu.
#     run_no_driver.sh PROGRAM TOOLKIT-LIBRARIES
# Skipped (77) if there is a driver.
set -u
program=$(realpath "$1")
stub=$2/stubs/libcuda.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export OMP_WAIT_POLICY=passive LC_ALL=C
unset LD_LIBRARY_PATH

"$program" devices >devices || exit 1
if ! grep -q '^  cuda .*no NVIDIA driver is installed: use cpu' devices; then
    echo "this machine has a driver: $(grep '^  cuda ' devices)" >&2
    exit 77
fi
ldd "$program" | grep -E 'libcuda|libcudart|libcublas' && { echo "libraries of CUDA are linked" >&2; exit 1; }
shape="--layers 1 --d-model 16 --heads 2 --d-ff 16 --vocab 17 --context 4 --batch 1 --steps 1 --warmup 0"
# shellcheck disable=SC2086 # a list of options
"$program" profile $shape -o auto.json.gz >profile 2>&1 || { cat profile >&2; exit 1; }
grep -q ' on cpu$' profile || { cat profile >&2; exit 1; }
# shellcheck disable=SC2086
"$program" profile $shape --device cuda -o cuda.json.gz >profile 2>&1
[ $? -eq 1 ] || { cat profile >&2; exit 1; }
grep -q -- '--device cuda: no NVIDIA driver is installed' profile || { cat profile >&2; exit 1; }
if [ -e "$stub" ]; then
    ln -s "$stub" libcuda.so.1
    LD_LIBRARY_PATH=$folder "$program" devices >devices || exit 1
    grep -q "^  cuda .*libcuda.so.1 is the CUDA toolkit's stub, not a driver" devices || { cat devices >&2; exit 1; }
fi
