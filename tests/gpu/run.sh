#!/usr/bin/env bash
# run.sh ROOT [--seconds N] [PART...]: builds with the CUDA toolkit and runs everything that needs a GPU: tests (label gpu), profile
# (2.7B and small in three precisions, and a table of their kernels), and compute-sanitizer's memcheck, racecheck and
# initcheck over the kernels and one training step; all five unless parts are named. If TIDEMARK_PYTORCH_PYTHON names a Python
# with PyTorch, two parts come first: live, the zoo's programs on the GPU and on the virtual card, compared event by event, and
# published, what published figures leave open (published.py). After N
# seconds no further step begins. Writes ROOT/build/cuda/gpu-report.md and prints it. Exit status 1 if a step failed or could
# not be run. Without a GPU it prints what it would do.
set -u
here=$(dirname "$(realpath "$0")")
cd "$1" || exit 1
shift
# shellcheck source=tests/gpu/report.sh
. "$here/report.sh"
build=build/cuda
program=$build/cli/tidemark
test_gpu=$build/tests/gpu/test_gpu
report=$build/gpu-report.md
logs=$build/gpu-logs
scripts=$here
revision="commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"

plan() {
    cat <<'PLAN'
On a machine with a GPU, a driver and the CUDA toolkit, ./dev gpu would
  1. configure and build the preset cuda in build/cuda
  2. run the tests with label gpu: the kernels beside their twins of the cpu, every recorded result of PyTorch, training in
     every precision, out of memory
  3. profile 2.7B and small, context 512, in bf16-mixed, tf32 and fp32, and print which kernels took how long
  4. run compute-sanitizer (memcheck, racecheck, initcheck) over the tests of kernels and one training step
  5. if TIDEMARK_PYTORCH_PYTHON names a Python with PyTorch, first of all: run programs of the zoo on the GPU and on the virtual
     card, event by event; and measure the card's context, cuDNN's work areas in CNNs, kernels of published times, and a start of
     vLLM, beside the virtual card's answers
  6. print a report and write it to build/cuda/gpu-report.md
PLAN
}

parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) deadline=$(($(date +%s) + ${2:?--seconds N})) && shift ;;
    tests | profile | memcheck | racecheck | initcheck | live | published) parts+=("$1") ;;
    *)
        say "gpu: unknown part '$1': it is tests, profile, memcheck, racecheck, initcheck, live or published, or --seconds N"
        exit 2
        ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(${TIDEMARK_PYTORCH_PYTHON:+live published} tests profile memcheck racecheck initcheck)

if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    say "gpu: there is no GPU here: nvidia-smi shows none"
    plan
    exit 1
fi
mkdir -p "$logs" || exit 1
step "configure" cmake --preset cuda
[ "$failures" -eq 0 ] && step "build" cmake --build --preset cuda
if [ "$failures" -eq 0 ]; then
    for part in "${parts[@]}"; do
        if [ "$part" = profile ]; then
            profiles "$logs" 2.7B 512
            profiles "$logs" small 512
            continue
        fi
        if [ "$part" = live ]; then
            step "live on the GPU and on the virtual card" python3 -B "$here/live.py" "$program" "${TIDEMARK_GPU_CARD:-h100-80}" \
                "${TIDEMARK_PYTORCH_PYTHON:-python3}"
            continue
        fi
        if [ "$part" = published ]; then
            show "what published figures leave open" python3 -B "$here/published.py" "$program" "${TIDEMARK_GPU_CARD:-h100-80}" \
                "${TIDEMARK_PYTORCH_PYTHON:-python3}" "$logs/published.jsonl"
            continue
        fi
        if [ "$part" != tests ]; then
            sanitize "$part"
            continue
        fi
        # A test that skips here did not find the GPU, so it counts as a failure.
        step "tests with label gpu" ctest --test-dir "$build" -L '^gpu$' --no-tests=error --output-on-failure
        if grep -q 'Skipped' "$logs/tests-with-label-gpu.log" 2>/dev/null; then
            row "no gpu test skipped" FAILED 0 "$logs/tests-with-label-gpu.log"
        fi
    done
fi
cat "$report"
[ "$failures" -eq 0 ]
