#!/usr/bin/env bash
# check_kernels_selftest.sh: check_kernels.sh passes kernels that have their bounds and a name of their own, and no others.
set -u
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/good.cu" <<'TEXT'
/* A __global__ function. */
static __global__ void __launch_bounds__(BLOCK)
    tide_first_kernel(float *x) {
}
template <typename T>
static __global__ void __launch_bounds__(BLOCK, 2) tide_second_kernel(T *x) { *x = 1; }
TEXT
cat >"$work/bad.cu" <<'TEXT'
static __global__ void
    tide_third_kernel(float *x) {
    launch(__launch_bounds__(3));
}
TEXT
bash "$here/check_kernels.sh" "$work/good.cu" || { echo "good kernels are refused"; exit 1; }
out=$(bash "$here/check_kernels.sh" "$work/good.cu" "$work/bad.cu") && { echo "a kernel without bounds passes"; exit 1; }
[ "$out" = "$work/bad.cu:1: a kernel without __launch_bounds__" ] || { echo "unexpected: $out"; exit 1; }
cat >"$work/names.cu" <<'TEXT'
static __global__ void __launch_bounds__(64) forward(float *x) {
template <typename T>
static __global__ void __launch_bounds__(64)
    tide_first_kernel(T *x) {
TEXT
out=$(bash "$here/check_kernels.sh" "$work/good.cu" "$work/names.cu") && { echo "any name passes"; exit 1; }
[ "$out" = "$work/names.cu:1: forward is not named tide_..._kernel
$work/names.cu:3: tide_first_kernel is the name of another kernel: $work/good.cu:2" ] || { echo "unexpected: $out"; exit 1; }
bash "$here/check_kernels.sh" /dev/null >/dev/null && { echo "no kernels at all pass"; exit 1; }
exit 0
