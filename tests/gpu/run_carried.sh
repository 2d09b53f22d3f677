#!/usr/bin/env bash
# run.sh: the tests of a carried build on this machine's GPU. Exit status 0: all passed; 77: there is no GPU.
set -u
here=$(dirname "$(realpath "$0")")
"$here/tests/tide_gpu_probe" || exit 77
failures=0
names=$("$here/tests/test_gpu" --list)
for name in $names; do
    "$here/tests/test_gpu" "$name" || failures=$((failures + 1))
done
bash "$here/tests/training.sh" "$here/tidemark" "$here/reference" || failures=$((failures + 1))
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
for tool in memcheck racecheck initcheck; do
    [ -n "$sanitizer" ] || break
    for name in $names; do
        "$sanitizer" --tool "$tool" --error-exitcode 9 "$here/tests/test_gpu" "$name" || failures=$((failures + 1))
    done
done
[ -n "$sanitizer" ] || echo "compute-sanitizer is not installed: the sanitizers were not run"
echo "$failures failed"
[ "$failures" -eq 0 ]
