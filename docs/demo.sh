#!/usr/bin/env bash
# The demonstration behind ./dev demo: docs/demo.sh TIDEMARK FOLDER
#
# (a) On the virtual card h100-80 (no GPU needed): 2.7B at context 2048, a training step in fp32, which does not fit,
#     and in bf16-mixed, which does.
# (b) On the best real device: small at context 128, fp32, with real times.
set -euo pipefail
tidemark=$(realpath "$1")
folder=$2
mkdir -p "$folder"
cd "$folder"

echo "(a) 2.7B, context 2048, train, on the virtual card h100-80: does it fit?" >&2
status=0
"$tidemark" profile --size 2.7B --context 2048 --mode train --precision fp32,bf16-mixed \
    --device virtual:h100-80 --warmup 0 --steps 2 || status=$?
# 3: one of the runs does not fit, which is what this part shows.
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || exit "$status"

echo "(b) small, context 128, train, fp32, on the best device here" >&2
"$tidemark" profile --size small --context 128 --mode train --precision fp32 --device auto --warmup 1 --steps 3

"$tidemark" compare 2.7B-train-c2048-b4-fp32.json.gz 2.7B-train-c2048-b4-bf16-mixed.json.gz \
    small-train-c128-b4-fp32.json.gz
"$tidemark" view 2.7B-train-c2048-b4-fp32.json.gz 2.7B-train-c2048-b4-bf16-mixed.json.gz \
    small-train-c128-b4-fp32.json.gz -o report.html
echo "open this in a browser: $PWD/report.html"
