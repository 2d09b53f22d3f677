#!/usr/bin/env bash
# Removes each barrier of model/ops_cuda in turn, __syncthreads and __syncwarp, and runs the tests of kernels with the
# race detector, of which one must fail. It works on a copy of the last commit, in a folder that it deletes, and prints a
# line for each barrier: the test that failed, and its report. It fails if there is a barrier that no test needs. It takes
# about ten minutes on 2 cores.
#
#   bash tests/unit/ops_cuda/remove_barriers.sh [FILE...]     names of model/ops_cuda; without one: all
set -euo pipefail

source=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "$source" "$work/tree"
cd "$work/tree"
# Planted faults name the text that they replace, which is missing without its barrier.
sed -i '/^add_subdirectory(faults)/d' tests/unit/ops_cuda/CMakeLists.txt
cmake --preset dev >"$work/log"

# The tests that run the kernels of a file, those that are likely to fail first.
tests_of() {
    case $1 in
    attention_softmax*) echo attention_naive ;;
    attention*) echo attention ;;
    decode*) echo decode_operators ;;
    *) echo rows micro parameters elements swiglu attention_naive decode_operators attention ;;
    esac
}

n=0
n_unneeded=0
while IFS=: read -r file line _; do
    name=${file##*/}
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
        continue
    fi
    sed -i -E "${line}s/__sync(threads|warp)\(\);//" "$file"
    caught=
    for test in $(tests_of "$name"); do
        program=test_cuda_emulated_race_$test
        cmake --build build/dev --target "$program" >"$work/log" || { cat "$work/log" && exit 1; }
        if ! OMP_WAIT_POLICY=passive "build/dev/tests/unit/ops_cuda/$program" >"$work/log" 2>&1; then
            caught="$test: $(grep -m 1 'cuda emulator:' "$work/log" || echo 'no report, but wrong numbers')"
            break
        fi
    done
    git checkout -q "$file"
    n=$((n + 1))
    [ -n "$caught" ] || n_unneeded=$((n_unneeded + 1))
    echo "$name:$line: ${caught:-NO TEST NEEDS IT}"
done < <(git grep -nE '__sync(threads|warp)\(\);' -- model/ops_cuda)
echo "$n barriers, $((n - n_unneeded)) needed by a test"
[ "$n" -gt 0 ] && [ "$n_unneeded" -eq 0 ]
