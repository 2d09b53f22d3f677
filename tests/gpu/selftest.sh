#!/usr/bin/env bash
# selftest.sh ROOT: run.sh and run_carried.sh with stand-ins for the GPU and its tools: checks what they run, and that each
# failure is reported and counted.
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
# Each stand-in logs its call and fails if the call matches FAIL_ON.
for name in cmake ctest compute-sanitizer nvidia-smi tidemark test_gpu; do
    cat >"$work/bin/$name" <<'TEXT'
#!/usr/bin/env bash
call="${0##*/} $*"
echo "$call" >>"$CALLS"
[ -n "${FAIL_ON:-}" ] && [[ "$call" == *$FAIL_ON* ]] && exit 1
[ "${0##*/}" = nvidia-smi ] && [ "${1:-}" = -L ] && echo "GPU 0: stand-in"
[ "${0##*/}" = tidemark ] && [ -n "${MISSING:-}" ] && echo "  cuda:0       missing  device cuda needs cuBLAS, and none was found: x"
[ "${0##*/}" = test_gpu ] && [ "${1:-}" = --list ] && printf 'rows\nswiglu\nreal_size\n'
[ "${0##*/}" = tidemark ] && [[ "$call" == *" -o "* ]] && file=${call##* -o } && : >"${file%% *}" && echo "the table of $1" && echo "${LOSS:-loss: 9.4}"
[ "${0##*/}" = tidemark ] && [ "${1:-}" = summary ] && echo "tide_flash_forward_kernel 60.1 %"
[ "${0##*/}" = compute-sanitizer ] && printf '%s\n' "${SAYS:-========= ERROR SUMMARY: 0 errors}"
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
# racecheck and initcheck skip the kernels of libraries; memcheck covers them all.
for tool in "memcheck --report-api-errors no --error-exitcode 9" \
    "racecheck --report-api-errors no --error-exitcode 9 --kernel-name kns=tide_" \
    "initcheck --report-api-errors no --print-limit 0"; do
    wants "--tool $tool build/cuda/tests/gpu/test_gpu rows" "$CALLS" "the calls"
    wants "--tool $tool build/cuda/cli/tidemark profile" "$CALLS" "the calls"
    wants "| ${tool%% *} swiglu | passed |" "$work/out" "the report"
done
grep -q 'compute-sanitizer.*real_size' "$CALLS" && fail "a sanitizer runs over real_size"
shape="--context 512 --device cuda --warmup 3 --steps 5 --overhead-pairs 0"
for size in 2.7B small; do
    for precision in bf16-mixed tf32 fp32; do
        wants "tidemark profile --size $size $shape --precision $precision -o" "$CALLS" "the calls"
        wants "## profile $size $precision" "$work/out" "the report"
    done
    wants "tidemark profile --size $size $shape --precision bf16-mixed --kernels -o" "$CALLS" "the calls"
    wants "| kernels of $size bf16-mixed | passed |" "$work/out" "the report"
    wants "## kernel table of $size bf16-mixed" "$work/out" "the report"
done
wants "the table of profile" "$work/out" "the report"
wants "tide_flash_forward_kernel 60.1 %" "$work/out" "the report"
wants "summary --top 60" "$CALLS" "the calls"
wants "ctest --test-dir build/cuda -L ^gpu\$ --no-tests=error" "$CALLS" "the calls"
cmp -s "$work/out" "$work/project/build/cuda/gpu-report.md" || fail "the report is not the file"

run "a wrong loss" 1 PARTS="profile" LOSS="warning: run: the loss of the run's first step is 9.210340, but it must be 9.414"
wants "| loss of profile 2.7B bf16-mixed | FAILED |" "$work/out" "the report"
run "a loss that is no number" 1 PARTS="profile" LOSS="loss: nan in the run's first step; it is no finite number from step 0 of the run on"
run "a race" 1 FAIL_ON="racecheck --report-api-errors no --error-exitcode 9 --kernel-name kns=tide_ build/cuda/tests/gpu/test_gpu rows"
wants "| racecheck rows | FAILED |" "$work/out" "the report"
wants "1 of " "$work/out" "the report"
# initcheck fails for what our kernels read, not for a library's kernels; a missing report also fails.
place="=========     at void cutlass_gemm(float*)+0x90 in gemm.cu:1"
ours="=========     at void tide_rope_kernel<float>(float*)+0x90 in rope.cu:43"
run "a library's read" 0 PARTS="initcheck" SAYS="$place"$'\n'"========= ERROR SUMMARY: 3 errors"
run "a read of ours" 1 PARTS="initcheck" SAYS="$place"$'\n'"$ours"$'\n'"========= ERROR SUMMARY: 3 errors"
wants "| initcheck rows | FAILED |" "$work/out" "the report"
run "reads of nobody" 1 PARTS="initcheck" SAYS="========= ERROR SUMMARY: 3 errors"
run "no summary" 1 PARTS="initcheck" SAYS="========= COMPUTE-SANITIZER"
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

# A carried build; rehearsal.sh runs all of its parts on the fake runtime.
carried=$work/carried
bash "$root/tests/gpu/carry_scripts.sh" "$root" "$carried" || fail "the scripts cannot be carried"
mkdir -p "$carried/bin" "$work/site/nvidia/cu13/lib"
cp "$work/bin/tidemark" "$carried/bin/"
cp "$work/bin/test_gpu" "$carried/tests/"
cp "$work/bin/test_gpu" "$carried/tests/tide_gpu_probe"
cp "$work/bin/test_gpu" "$carried/tests/gpu/training.sh"
printf 'import os, sys\nprint("bench", *sys.argv[1:], os.environ.get("TIDEMARK_CUBLAS", "none"))\n' >"$carried/bench/pytorch/beside_pytorch.py"
touch "$work/site/nvidia/cu13/lib/libcublas.so.13" "$work/site/torch.py"
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
carried "parts by name" 0 "kernels training profile memcheck racecheck initcheck" TIDEMARK_GPU_CARD=h200
for line in "kernels | kernels rows" "kernels | kernels real_size" "training | training" "profile | profile 2.7B tf32" \
    "profile | profile small fp32 on virtual:h200" "profile | kernels of small bf16-mixed" "memcheck | memcheck rows" \
    "racecheck | racecheck training step fp32" "initcheck | initcheck swiglu"; do
    wants "| ${line#* | } | passed |" "$work/results/${line%% *}.md" "the page"
done
wants "== memcheck rows: " "$work/results/memcheck.log" "the log"
wants "### kernel table of 2.7B bf16-mixed" "$work/results/profile.md" "the page"
wants "--size 2.7B --context 512 --device cuda --warmup 3 --steps 5 --overhead-pairs 10 --precision tf32" "$CALLS" "the calls"
wants "--size small --context 128 --device virtual:h200" "$CALLS" "the calls"
carried "kernels alone" 0 "--seconds 100 kernels"
grep -q 'compute-sanitizer\|profile' "$CALLS" && fail "carried: a part that was not named ran"
carried "no card of this name" 1 "profile"
wants "| virtual card | NOT RUN |" "$work/results/profile.md" "the page"
carried "no kernels are traced" 1 "profile" FAIL_ON="--kernels" TIDEMARK_GPU_CARD=h200
wants "| kernels of 2.7B bf16-mixed | FAILED |" "$work/results/profile.md" "the page"
grep -q 'tidemark summary' "$CALLS" && fail "carried: a table of a run that failed"
carried "a failing kernel" 1 "kernels" FAIL_ON="test_gpu swiglu"
wants "| kernels swiglu | FAILED |" "$work/results/kernels.md" "the page"
carried "no GPU" 77 "" FAIL_ON="tide_gpu_probe"
carried "no time" 1 "--seconds 2 kernels"
wants "| kernels | ran out of time |" "$work/out" "the summary"
carried "an unknown part" 2 "kernel"
carried "cuBLAS where only python finds it" 0 "bench -- --sizes small" MISSING=1 PYTHONPATH="$work/site"
wants "bench-table.md --sizes small $work/site/nvidia/cu13/lib/libcublas.so.13" "$work/results/bench.log" "the log"

mv "$work/bin/compute-sanitizer" "$work/off"
run "no sanitizer" 1 CUDA_HOME=/nowhere CUDA_PATH=/nowhere
if ! ls /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer >/dev/null 2>&1; then
    wants "| compute-sanitizer | NOT RUN |" "$work/out" "the report"
fi
[ "$failures" -eq 0 ]
