#!/usr/bin/env bash
# initcheck.sh COMMAND...: runs a command of compute-sanitizer's initcheck, and fails if our kernels
# (tide_..._kernel) read memory that was never written. Reports of a library's kernels are only printed. A filter by name
# would not do: the tool would miss the library's writes and report that our kernels read unwritten memory.
set -u
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$@" >"$out" 2>&1
status=$?
cat "$out"
[ "$status" -eq 0 ] || exit "$status"
n=$(sed -nE 's/^=+ ERROR SUMMARY: ([0-9]+) error.*/\1/p' "$out" | tail -n 1)
[ -n "$n" ] || { echo "initcheck has not ended: it prints no summary" && exit 1; }
[ "$n" -ne 0 ] || exit 0
places=$(grep -cE '^=+ +at ' "$out")
ours=$(grep -cE '^=+ +at .*tide_[a-z0-9_]+_kernel' "$out")
echo "initcheck: $n errors; places in kernels: $places, of them in ours: $ours"
[ "$ours" -eq 0 ] && [ "$places" -gt 0 ] && ! grep -q 'not printed' "$out"
