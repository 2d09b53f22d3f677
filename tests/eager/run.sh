#!/bin/sh
# Compares forecasts of PyTorch's memory with real snapshots, row by row: run.sh TIDEMARK SHARED
set -eu
tidemark=$1
shared=${TIDEMARK_SHARED:-$2}/pytorch-snapshots
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || {
    echo "skipped: python3 is absent"
    exit 77
}
[ -d "$shared" ] || {
    echo "skipped: there is no folder pytorch-snapshots in TIDEMARK_SHARED, nor in shared beside the checkout"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# beside NAME OPTION...: compares the forecast of a run with NAME.pickle, which PyTorch recorded for the same run.
beside() {
    name=$1
    shift
    [ -e "$shared/$name.pickle" ] || {
        echo "$name: not here, not compared"
        return 0
    }
    "$tidemark" profile --emulate pytorch --warmup 1 --steps 1 "$@" -o "$name.json.gz" >/dev/null
    printf '%s: ' "$name"
    python3 "$here/check_sequence.py" "$tidemark" "$name.json.gz" "$shared/$name.pickle"
}
beside 2.7B_fp32_ctx512_forward --edition 2025 --size 2.7B --context 512 --mode forward --keep-graph --device virtual:h100-80
beside 2.7B_bf16_ctx512_forward --edition 2025 --size 2.7B --context 512 --mode forward --keep-graph --precision bf16 --device virtual:h100-80
beside medium_fp32_ctx128_training --edition 2026 --size medium --context 128 --device virtual:a100-80

# The forecast of another edition allocates in a different sequence, so the comparison must fail.
"$tidemark" profile --emulate pytorch --edition 2025 --size medium --warmup 1 --steps 1 --device virtual:a100-80 -o other.json.gz >/dev/null
if python3 "$here/check_sequence.py" "$tidemark" other.json.gz "$shared/medium_fp32_ctx128_training.pickle" >difference; then
    echo "the edition of 2025 was taken for that of 2026"
    exit 1
fi
head -n 1 difference
