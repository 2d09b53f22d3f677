#!/usr/bin/env bash
# part.sh PART SECONDS FOLDER OUT [OPTION...]: one part of the half hour, from the carried build in FOLDER: its page OUT/PART.md,
# complete after each step, and its log OUT/PART.log. run.sh calls it and appends the wanted numbers. After SECONDS the
# running step is stopped. Parts:
#     smoke       what tidemark sees of the machine; small, context 128; two recorded results; kernels beside their twins of the cpu
#     zoo         PyTorch programs on the GPU and on the virtual card, compared event by event
#     profile     2.7B at context 512 and small at context 128: times, kernels, and peaks beside the virtual card's
#     calibrate   `tidemark bench calibrate`
#     sanitizers  compute-sanitizer's memcheck, racecheck and initcheck, over kernels and a training step; each is a part, too
#     bench       steps beside PyTorch's, with the OPTIONs
#     kernels     every kernel beside its twin of the cpu, in the shapes of 2.7B, too
#     training    all recorded results, every precision, out of memory
# Exit status 0: all passed; 1: something failed; 3: something is missing here, and what could run passed; 4: the time was up.
set -u
part=$1
folder=$3
out=$4
bench_options=("${@:5}")
# shellcheck source=tests/gpu/report.sh
. "$folder/tests/gpu/report.sh"
program=$folder/bin/tidemark
test_gpu=$folder/tests/test_gpu
scripts=$folder/tests/gpu
deadline=$(($(date +%s) + $2))
report=$out/$part.md
one_log=$out/$part.log
rehearsal=${TIDEMARK_HALF_HOUR_REHEARSAL:-}
python=${TIDEMARK_PYTORCH_PYTHON:-python3}
: >"$one_log"
logs=$(mktemp -d)

# The clocks, every 5 s and as long as this part runs: a reader of the times must see whether they fell.
clocks=$logs/clocks
query=timestamp,clocks.sm,clocks.mem,temperature.gpu,power.draw
: >"$clocks"
watch_clocks() {
    while kill -0 $$ 2>/dev/null; do
        timeout 10 nvidia-smi --query-gpu=$query --format=csv,noheader >>"$clocks" 2>/dev/null || return
        sleep 5
    done
}
watch_clocks &
watcher=$!
trap 'kill $watcher 2>/dev/null; rm -rf "$logs"' EXIT

# The virtual card of the GPU's name, unless the environment names one.
find_card() {
    local name
    name=$(timeout 10 nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
    "$program" devices --cards --format csv 2>/dev/null | awk -F, -v name="$name" 'name != "" && $5 == name { print $1; exit }'
}
card=${TIDEMARK_GPU_CARD:-$(find_card)}

version_lines() {
    "$program" --version 2>&1 | head -n 1
    cat "$folder/revision" 2>/dev/null
    machine # tests/gpu/report.sh
    echo "virtual card: ${card:-none has the name of this GPU}"
    "$python" -c 'import platform; print("Python", platform.python_version())' 2>/dev/null || echo "no Python: $python"
    "$python" -c 'import torch; print("PyTorch", torch.__version__, "CUDA", torch.version.cuda)' 2>/dev/null ||
        echo "no PyTorch in $python"
    echo "cuBLAS: ${TIDEMARK_CUBLAS:-as tidemark finds it}; CUPTI: ${TIDEMARK_CUPTI:-as tidemark finds it}"
}
versions=$(version_lines | sed 's/^/- /')

# In place of report.sh's: a page for docs/results. run.sh writes the result once it is known, and appends two sections.
write_report() {
    {
        echo "# $part, $(date -u '+%Y-%m-%d %H:%M UTC')"
        echo
        echo "Result: stopped before its end"
        [ -z "$rehearsal" ] || printf '\nThis was a rehearsal with tiny models: none of its times is a measurement.\n'
        printf '\n## Command\n\n```\n'
        printf '%s\n' "bash run.sh $part${bench_options[*]:+ -- ${bench_options[*]}}" ${commands[@]+"${commands[@]}"}
        printf '```\n\n## Versions\n\n%s\n' "$versions"
        printf '\n## Clocks\n\n%s, every 5 s:\n\n```\n%s\n```\n' "$query" "$(cat "$clocks" 2>/dev/null)"
        printf '\n## Steps\n\n| what | result | s | note |\n|---|---|---|---|\n'
        [ ${#rows[@]} -eq 0 ] || printf '%s\n' "${rows[@]}"
        [ ${#details[@]} -eq 0 ] || printf '\n%s\n' "${details[@]/#\#\# /\#\#\# }"
    } >"$report.new" && mv "$report.new" "$report"
}

has_pytorch() {
    "$python" -c 'import torch' 2>/dev/null && return 0
    row "PyTorch" "NOT RUN" 0 "$python has none: TIDEMARK_PYTORCH_PYTHON names a Python that has it"
    return 1
}

need_card() {
    [ -n "$card" ] && return 0
    row "virtual card" "NOT RUN" 0 "no card of tidemark devices --cards has the name of this GPU: TIDEMARK_GPU_CARD names the nearest"
    return 1
}

smoke() {
    local model name
    mapfile -t model < <(model_of small 128)
    local run=("$program" profile "${model[@]}" --precision bf16-mixed --device cuda --warmup 5 --steps 20 --overhead-pairs 0)
    rm -f "$out"/smoke*.json.gz
    show "devices" "$program" devices
    show "small, context 128" "${run[@]}" -o "$out/smoke.json.gz"
    judge_loss "small, context 128"
    show "small, context 128, forward, with a graph" "${run[@]}" --mode forward --cuda-graph -o "$out/smoke-graph.json.gz"
    for name in tiny_fp32 tiny_bf16_mixed; do
        [ ! -e "$folder/reference/$name.safetensors" ] ||
            step "recorded result $name" "$program" check-reference "$folder/reference/$name.safetensors" --device cuda
    done
    for name in $(timeout 10 "$test_gpu" --list); do
        [ "$name" = real_size ] || step "kernels $name" "$test_gpu" "$name"
    done
}

# The comparison's last line is read by wanted.py.
zoo() {
    rm -f "$out/zoo.txt"
    if has_pytorch && need_card; then
        show "zoo on the GPU and on virtual:$card" bash -c 'set -o pipefail; python3 -B "$1" "$2" "$3" "$4" 2>&1 | tee "$5"' zoo \
            "$scripts/live.py" "$program" "$card" "$python" "$out/zoo.txt"
    fi
}

profile() {
    # Enough to detect 1 %: small's steps vary more.
    need_card
    pairs=10
    profiles "$out" 2.7B 512
    pairs=30
    profiles "$out" small 128
    details+=("## Kernels beside a forecast"$'\n\n'"Not compared: \`tidemark run --time\` forecasts PyTorch programs, and the tables above are of tidemark's own model, for which there is no forecast."$'\n')
}

calibrate() {
    has_pytorch || return
    show "calibrate" "$program" bench calibrate --python "$python" -o "$out/calibration.json"
}

bench() {
    rm -f "$out/bench-table.md"
    has_pytorch || return
    if [ ${#bench_options[@]} -eq 0 ]; then
        bench_options=(--sizes 2.7B --contexts 512 --precisions "bf16-mixed,tf32,fp32" --rounds 1 --no-compile)
        [ -z "$card" ] || bench_options+=(--card "$card")
    fi
    step "bench" python3 -B "$folder/bench/pytorch/beside_pytorch.py" --device cuda --tidemark "$program" --python "$python" \
        -o "$out/bench-table.md" "${bench_options[@]}"
    [ ! -s "$out/bench-table.md" ] || details+=("$(sed 's/^#/###/' "$out/bench-table.md")")
}

kernels() {
    local name
    for name in $(timeout 10 "$test_gpu" --list); do
        step "kernels $name" "$test_gpu" "$name"
    done
}

case $part in
smoke | zoo | profile | calibrate | bench | kernels) "$part" ;;
training) step "training" bash "$scripts/training.sh" "$program" "$folder/reference" ;;
sanitizers) sanitize memcheck racecheck initcheck ;;
memcheck | racecheck | initcheck) sanitize "$part" ;;
esac
write_report
# A step that failed by itself outweighs one that was stopped, and that one outweighs what is missing.
status=0
for line in ${rows[@]+"${rows[@]}"}; do
    case $line in
    *"the time was up"*) [ $status -eq 1 ] || status=4 ;;
    *"| FAILED |"*) status=1 ;;
    *"| NOT RUN |"*) [ $status -ne 0 ] || status=3 ;;
    esac
done
[ ${#rows[@]} -gt 0 ] || status=1
exit $status
