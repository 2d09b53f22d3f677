#!/usr/bin/env bash
# run.sh ROOT: builds with the CUDA toolkit and runs everything that needs a GPU: the tests with label gpu, then
# compute-sanitizer over the kernels and one training step. Writes ROOT/build/cuda/gpu-report.md and prints it. Exit
# status 1 when something failed or could not be run. Without a GPU it says what it would do.
set -u
cd "$1" || exit 1
build=build/cuda
report=$build/gpu-report.md
failures=0
rows=()

say() { printf '%s\n' "$*" >&2; }

plan() {
    cat <<'TEXT'
On a machine with a GPU, a driver and the CUDA toolkit, ./dev gpu would
  1. configure and build the preset cuda in build/cuda
  2. run the tests with label gpu: the kernels beside their twins of the cpu, every recorded result of PyTorch, training in
     every precision, out of memory
  3. run compute-sanitizer (memcheck, racecheck, initcheck) over the tests of kernels and one training step
  4. print a report and write it to build/cuda/gpu-report.md
TEXT
}

# row WHAT RESULT SECONDS NOTE
row() {
    rows+=("| $1 | $2 | $3 | $4 |")
    say "gpu: $1: $2${4:+ ($4)}"
    [ "$2" = passed ] || failures=$((failures + 1))
}

# step WHAT COMMAND...: one row; output goes to a log beside the report.
step() {
    local what=$1 log begin seconds
    log=$build/gpu-logs/$(printf '%s' "$what" | tr -c 'A-Za-z0-9\n' -).log
    shift
    begin=$(date +%s)
    if "$@" >"$log" 2>&1; then
        seconds=$(($(date +%s) - begin))
        row "$what" passed "$seconds" ""
    else
        seconds=$(($(date +%s) - begin))
        row "$what" FAILED "$seconds" "$log"
    fi
}

find_sanitizer() {
    local folder
    command -v compute-sanitizer && return 0
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
        [ -n "$folder" ] && [ -x "$folder/bin/compute-sanitizer" ] && echo "$folder/bin/compute-sanitizer" && return 0
        [ -n "$folder" ] && [ -x "$folder/compute-sanitizer/compute-sanitizer" ] &&
            echo "$folder/compute-sanitizer/compute-sanitizer" && return 0
    done
    return 1
}

sanitize() {
    local sanitizer tool name precision
    if ! sanitizer=$(find_sanitizer); then
        row "compute-sanitizer" "NOT RUN" 0 "it is not installed: it comes with the CUDA toolkit"
        return
    fi
    local step=("$build/cli/tidemark" profile --layers 2 --d-model 64 --heads 2 --d-ff 96 --vocab 131 --context 33 --batch 2
        --warmup 0 --steps 1 --overhead-pairs 0 --device cuda -o "$build/gpu-logs/step.json.gz")
    for tool in memcheck racecheck initcheck; do
        for name in $("$build/tests/gpu/test_gpu" --list); do
            step "$tool $name" "$sanitizer" --tool "$tool" --error-exitcode 9 "$build/tests/gpu/test_gpu" "$name"
        done
        for precision in fp32 bf16-mixed; do
            step "$tool training step $precision" "$sanitizer" --tool "$tool" --error-exitcode 9 "${step[@]}" \
                --precision "$precision"
        done
    done
}

# The machine as it says itself; the clocks matter to whoever reads times.
machine() {
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit --format=csv,noheader 2>/dev/null
    "$build/cli/tidemark" devices 2>/dev/null | sed -nE 's/^  (cuda:[0-9]+) +/\1: /p'
}

write_report() {
    {
        echo "# GPU tests"
        echo
        date -u '+%Y-%m-%d %H:%M UTC'
        machine | sed 's/^/- /'
        echo "- commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
        echo
        echo "| what | result | s | log |"
        echo "|---|---|---|---|"
        printf '%s\n' "${rows[@]}"
        echo
        if [ "$failures" -eq 0 ]; then
            echo "All passed."
        else
            echo "$failures of ${#rows[@]} failed or were not run."
        fi
    } >"$report"
    cat "$report"
}

if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    say "gpu: there is no GPU here: nvidia-smi shows none"
    plan
    exit 1
fi
mkdir -p "$build/gpu-logs" || exit 1
step "configure" cmake --preset cuda
[ "$failures" -eq 0 ] && step "build" cmake --build --preset cuda
if [ "$failures" -eq 0 ]; then
    # A test that skips on a machine with a GPU has found none: that is a failure here.
    step "tests with label gpu" ctest --test-dir "$build" -L '^gpu$' --no-tests=error --output-on-failure
    if grep -q 'Skipped' "$build/gpu-logs/tests-with-label-gpu.log"; then
        row "no gpu test skipped" FAILED 0 "$build/gpu-logs/tests-with-label-gpu.log"
    fi
    sanitize
fi
write_report
[ "$failures" -eq 0 ]
