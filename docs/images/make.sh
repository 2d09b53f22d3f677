#!/usr/bin/env bash
# Makes the pictures of the viewer in this folder from runs of the program: docs/images/make.sh TIDEMARK
# It needs node, Chromium and npm ci in tests/viewer. The times of the cpu run, and so its picture, depend on the machine.
set -euo pipefail
tidemark=$(realpath "${1:?usage: docs/images/make.sh TIDEMARK}")
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cd "$folder"
bash "$here/../demo.sh" "$tidemark" demo >/dev/null
mv demo/report.html fits.html
"$tidemark" profile --size 2.7B --context 512 --precision fp32,bf16-mixed --attention naive --mode forward-backward \
    --device virtual:h100-80 --warmup 0 --steps 2 >/dev/null
mv report.html compare.html
"$tidemark" profile --d-model 256 --layers 4 --heads 4 --d-ff 1024 --vocab 1000 --context 256 --device cpu \
    --warmup 3 --steps 10 -o one.json.gz >/dev/null
"$tidemark" view one.json.gz -o one.html >/dev/null

node "$here/make.mjs" "$folder" "$here"
# pngquant, when installed, reduces the pictures to a quarter of their size.
if command -v pngquant >/dev/null; then
    pngquant --force --skip-if-larger --ext .png 256 "$here"/*.png || true
fi
