#!/usr/bin/env bash
# selftest.sh ROOT: run.sh with stand-ins for the GPU and its tools: what it runs, and that a failure of any of them is
# reported and counted.
set -u
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "gpu runner: $1"
    failures=$((failures + 1))
}

mkdir -p "$work/bin" "$work/project/build/cuda/tests/gpu" "$work/project/build/cuda/cli"
# Each stand-in writes down how it was called and fails when its call matches FAIL_ON.
for name in cmake ctest compute-sanitizer nvidia-smi tidemark test_gpu; do
    cat >"$work/bin/$name" <<'TEXT'
#!/usr/bin/env bash
call="${0##*/} $*"
echo "$call" >>"$CALLS"
[ -n "${FAIL_ON:-}" ] && [[ "$call" == *$FAIL_ON* ]] && exit 1
[ "${0##*/}" = nvidia-smi ] && [ "${1:-}" = -L ] && echo "GPU 0: stand-in"
[ "${0##*/}" = test_gpu ] && [ "${1:-}" = --list ] && printf 'rows\nswiglu\n'
[ "${0##*/}" = ctest ] && [ -n "${SKIPS:-}" ] && echo "1/9 Test #1: gpu.ops.rows ***Skipped"
exit 0
TEXT
    chmod +x "$work/bin/$name"
done
cp "$work/bin/tidemark" "$work/project/build/cuda/cli/"
cp "$work/bin/test_gpu" "$work/project/build/cuda/tests/gpu/"
export CALLS=$work/calls

# run NAME EXIT [VARIABLE=VALUE...]
run() {
    local name=$1 wanted=$2 status
    shift 2
    : >"$CALLS"
    env PATH="$work/bin:$PATH" "$@" bash "$root/tests/gpu/run.sh" "$work/project" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq "$wanted" ] || fail "$name: exit $status instead of $wanted"
}
wants() { grep -qF -- "$1" "$2" || fail "$3 lacks '$1'"; }

run "all pass" 0
wants "All passed." "$work/out" "the report"
for tool in memcheck racecheck initcheck; do
    wants "--tool $tool --error-exitcode 9 build/cuda/tests/gpu/test_gpu rows" "$CALLS" "the calls"
    wants "--tool $tool --error-exitcode 9 build/cuda/cli/tidemark profile" "$CALLS" "the calls"
    wants "| $tool swiglu | passed |" "$work/out" "the report"
done
wants "ctest --test-dir build/cuda -L ^gpu\$ --no-tests=error" "$CALLS" "the calls"
cmp -s "$work/out" "$work/project/build/cuda/gpu-report.md" || fail "the report is not the file"

run "a race" 1 FAIL_ON="racecheck --error-exitcode 9 build/cuda/tests/gpu/test_gpu rows"
wants "| racecheck rows | FAILED |" "$work/out" "the report"
wants "1 of " "$work/out" "the report"
run "a build that fails" 1 FAIL_ON="cmake --build"
grep -q '^ctest' "$CALLS" && fail "tests ran without a build"
run "a failing test" 1 FAIL_ON="ctest"
run "a skipped test" 1 SKIPS=1
wants "| no gpu test skipped | FAILED |" "$work/out" "the report"
run "no GPU" 1 FAIL_ON="nvidia-smi -L"
wants "there is no GPU here" "$work/err" "stderr"
wants "would" "$work/out" "stdout"
mv "$work/bin/compute-sanitizer" "$work/off"
run "no sanitizer" 1 CUDA_HOME=/nowhere CUDA_PATH=/nowhere
if ! ls /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer >/dev/null 2>&1; then
    wants "| compute-sanitizer | NOT RUN |" "$work/out" "the report"
fi
[ "$failures" -eq 0 ]
