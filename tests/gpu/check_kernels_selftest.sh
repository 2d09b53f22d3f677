#!/usr/bin/env bash
# check_kernels_selftest.sh: check_kernels.sh passes kernels that have their bounds, and no others.
set -u
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/good.cu" <<'TEXT'
/* A __global__ function. */
static __global__ void __launch_bounds__(BLOCK)
    first(float *x) {
}
template <typename T>
static __global__ void __launch_bounds__(BLOCK, 2) second(T *x) { *x = 1; }
TEXT
cat >"$work/bad.cu" <<'TEXT'
static __global__ void
    third(float *x) {
    launch(__launch_bounds__(3));
}
TEXT
bash "$here/check_kernels.sh" "$work/good.cu" || { echo "good kernels are refused"; exit 1; }
out=$(bash "$here/check_kernels.sh" "$work/good.cu" "$work/bad.cu") && { echo "a kernel without bounds passes"; exit 1; }
[ "$out" = "$work/bad.cu:1: a kernel without __launch_bounds__" ] || { echo "unexpected: $out"; exit 1; }
bash "$here/check_kernels.sh" /dev/null >/dev/null && { echo "no kernels at all pass"; exit 1; }
exit 0
