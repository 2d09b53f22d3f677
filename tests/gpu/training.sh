#!/usr/bin/env bash
# training.sh TIDEMARK REFERENCES: whole runs on a GPU. Every recorded result must match; every precision, attention and
# recomputation trains and writes a snapshot with device times; the events equal those of the cpu; kernels are traced if
# CUPTI is installed; out of memory must be a clean result. EMULATED=1 leaves out the steps that fill a GPU's memory.
set -u
tidemark=$(realpath "$1")
references=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# expect WANTED_EXIT COMMAND...
expect() {
    local wanted=$1 status
    shift
    "$@" >out 2>err
    status=$?
    [ "$status" -eq "$wanted" ] && return 0
    echo "exit $status instead of $wanted: $*"
    cat out err
    failures=$((failures + 1))
    return 1
}

for file in "$references"/*.safetensors; do
    expect 0 "$tidemark" check-reference "$file" --device cuda
done

# The tolerances include TF32's rounding (model/reference/reference_tolerance_tf32.c): products in strict fp32 also meet them.
for file in "$references"/*_fp32.safetensors; do
    expect 0 "$tidemark" check-reference "$file" --device cuda --precision tf32
done

model=(--layers 2 --d-model 96 --heads 3 --d-ff 160 --vocab 331 --context 67 --batch 3 --warmup 1 --steps 2)
for precision in fp32 tf32 bf16-mixed bf16-true; do
    for attention in flash naive; do
        for recompute in none block; do
            run=("${model[@]}" --precision "$precision" --attention "$attention" --recompute "$recompute")
            expect 0 "$tidemark" profile "${run[@]}" --device cuda -o run.json.gz || continue
            cat out err >profiled
            "$tidemark" summary run.json.gz | grep -q 'device times of scopes lie within' ||
                { echo "no device times: ${run[*]}" && failures=$((failures + 1)); }
            # The first loss is that of fresh weights, and every loss a number.
            grep -q '^loss: ' profiled && ! grep -Eq "the loss of the run's first step is|no finite number" profiled ||
                { echo "a wrong loss: ${run[*]}" && cat profiled && failures=$((failures + 1)); }
        done
    done
done

# The same requests as on the cpu, but for the GEMM library's workspace: action, bytes, category, name and scope of every
# row of a block.
requests() { "$tidemark" dump "$1" | awk -F'\t' '$3 ~ /^(alloc|free)/ && $8 != "workspace" { print $3, $6, $8, $9, $10 }'; }
for attention in flash naive; do
    expect 0 "$tidemark" profile "${model[@]}" --attention "$attention" --device cuda -o cuda.json.gz
    expect 0 "$tidemark" profile "${model[@]}" --attention "$attention" --device cpu -o cpu.json.gz
    if ! diff <(requests cuda.json.gz) <(requests cpu.json.gz) >difference; then
        echo "with $attention attention cuda and cpu ask for different things:"
        head -n 20 difference
        failures=$((failures + 1))
    fi
done

expect 3 "$tidemark" profile "${model[@]}" --device cuda --memory-limit 4MiB -o limited.json.gz
if [ -z "${EMULATED:-}" ]; then
    expect 3 "$tidemark" profile --size 10B --context 2048 --batch 64 --warmup 0 --steps 1 --device cuda -o full.json.gz
    expect 0 "$tidemark" summary full.json.gz
fi
expect 0 "$tidemark" profile "${model[@]}" --device cuda --profiler-range -o after.json.gz

expect 0 "$tidemark" profile "${model[@]}" --device cuda --device-times all -o times.json.gz

# Of each kernel, how often it ran in each scope. Without CUPTI, or without the right to use it, one line reports that.
if "$tidemark" profile "${model[@]}" --device cuda --kernels -o kernels.json.gz >out 2>err; then
    for place in 'forward > layer > attention > flash' 'backward > layer > ffn' 'optimizer > adamw'; do
        "$tidemark" summary --top 1000 kernels.json.gz | grep -q "$place" ||
            { echo "no kernel in $place:" && "$tidemark" summary kernels.json.gz && failures=$((failures + 1)); }
    done
elif grep -q 'CUPTI' err; then
    echo "kernels were not traced: $(tail -n 1 err)"
else
    cat out err
    failures=$((failures + 1))
fi

[ "$failures" -eq 0 ]
