#!/usr/bin/env bash
# selftest.sh ROOT: run.sh and run_carried.sh with stand-ins for the GPU and its tools: what they run, and that a failure
# of any of them is reported and counted.
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
[ "${0##*/}" = tidemark ] && [ -n "${MISSING:-}" ] && echo "  cuda:0       missing  device cuda needs cuBLAS, and none was found: x"
[ "${0##*/}" = test_gpu ] && [ "${1:-}" = --list ] && printf 'rows\nswiglu\n'
[ "${0##*/}" = ctest ] && [ -n "${SKIPS:-}" ] && echo "1/9 Test #1: gpu.ops.rows ***Skipped"
exit 0
TEXT
    chmod +x "$work/bin/$name"
done
cp "$work/bin/tidemark" "$work/project/build/cuda/cli/"
cp "$work/bin/test_gpu" "$work/project/build/cuda/tests/gpu/"
export CALLS=$work/calls

parts_of() { printf '%s\n' "$@" | sed -n 's/^PARTS=//p'; }

# run NAME EXIT [VARIABLE=VALUE...]: PARTS are the arguments.
run() {
    local name=$1 wanted=$2 status
    shift 2
    : >"$CALLS"
    # shellcheck disable=SC2046 # a list of words
    env PATH="$work/bin:$PATH" "$@" bash "$root/tests/gpu/run.sh" "$work/project" $(parts_of "$@") >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq "$wanted" ] || fail "$name: exit $status instead of $wanted"
}
wants() { grep -qF -- "$1" "$2" || fail "$3 lacks '$1'"; }

run "all pass" 0
wants "All passed." "$work/out" "the report"
for tool in memcheck racecheck initcheck; do
    wants "--tool $tool --report-api-errors no --error-exitcode 9 build/cuda/tests/gpu/test_gpu rows" "$CALLS" "the calls"
    wants "--tool $tool --report-api-errors no --error-exitcode 9 build/cuda/cli/tidemark profile" "$CALLS" "the calls"
    wants "| $tool swiglu | passed |" "$work/out" "the report"
done
wants "ctest --test-dir build/cuda -L ^gpu\$ --no-tests=error" "$CALLS" "the calls"
cmp -s "$work/out" "$work/project/build/cuda/gpu-report.md" || fail "the report is not the file"

run "a race" 1 FAIL_ON="racecheck --report-api-errors no --error-exitcode 9 build/cuda/tests/gpu/test_gpu rows"
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
run "one part" 0 PARTS="--seconds 100 racecheck"
grep -q '^ctest' "$CALLS" && fail "a part that was not named ran"
wants "| racecheck swiglu | passed |" "$work/out" "the report"
run "no time" 1 PARTS="--seconds 1"
wants "| configure | NOT RUN | 0 | the time was up |" "$work/out" "the report"
run "an unknown part" 2 PARTS="race"

# A carried build.
carried=$work/carried
mkdir -p "$carried/tests" "$carried/reference" "$carried/bench" "$work/site/nvidia/cu13/lib"
cp "$root/tests/gpu/run_carried.sh" "$carried/run.sh"
cp "$root/tests/gpu/report.sh" "$carried/tests/"
cp "$work/bin/tidemark" "$carried/"
cp "$work/bin/test_gpu" "$carried/tests/"
cp "$work/bin/test_gpu" "$carried/tests/tide_gpu_probe"
cp "$work/bin/test_gpu" "$carried/tests/training.sh"
echo "commit abc" >"$carried/revision"
printf 'import os, sys\nprint("bench", *sys.argv[1:], os.environ.get("TIDEMARK_CUBLAS", "none"))\n' >"$carried/bench/beside_pytorch.py"
touch "$work/site/nvidia/cu13/lib/libcublas.so.13"
# carried NAME EXIT "ARGUMENT..." [VARIABLE=VALUE...]
carried() {
    local name=$1 wanted=$2 arguments=$3 status
    shift 3
    : >"$CALLS"
    rm -rf "$work/results"
    # shellcheck disable=SC2086
    env PATH="$work/bin:$PATH" OUT="$work/results" "$@" bash "$carried/run.sh" $arguments >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq "$wanted" ] || fail "carried, $name: exit $status instead of $wanted"
}
carried "all pass" 0 ""
wants "- commit abc" "$work/out" "the report"
for name in "kernels rows" "kernels swiglu" training "memcheck rows" "racecheck training step fp32" "initcheck swiglu"; do
    wants "| $name | passed |" "$work/results/gpu-report.md" "the report"
done
wants "== memcheck rows: " "$work/results/gpu.log" "the log"
[ "$(find "$work/results" -type f | wc -l)" -eq 2 ] || fail "carried: other files than the report and the log"
carried "a failing kernel" 1 "kernels" FAIL_ON="test_gpu swiglu"
wants "| kernels swiglu | FAILED |" "$work/out" "the report"
carried "no GPU" 77 "" FAIL_ON="tide_gpu_probe"
carried "no time" 1 "--seconds 2 kernels"
wants "| kernels rows | NOT RUN | 0 | the time was up |" "$work/out" "the report"
carried "an unknown part" 2 "kernel"
carried "cuBLAS where only python finds it" 0 "bench -- --sizes small" MISSING=1 PYTHONPATH="$work/site"
wants "bench.md --sizes small $work/site/nvidia/cu13/lib/libcublas.so.13" "$work/results/gpu.log" "the log"

mv "$work/bin/compute-sanitizer" "$work/off"
run "no sanitizer" 1 CUDA_HOME=/nowhere CUDA_PATH=/nowhere
if ! ls /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer >/dev/null 2>&1; then
    wants "| compute-sanitizer | NOT RUN |" "$work/out" "the report"
fi
[ "$failures" -eq 0 ]
