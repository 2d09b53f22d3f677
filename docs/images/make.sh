#!/usr/bin/env bash
# Makes the pictures of the viewer in this folder from runs of the program: docs/images/make.sh TIDEMARK
# Needs Chromium. The cpu run's times, and with them its picture, differ from machine to machine.
set -euo pipefail
tidemark=$(realpath "${1:?usage: docs/images/make.sh TIDEMARK}")
here=$(cd "$(dirname "$0")" && pwd)
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# shot NAME REPORT WIDTH HEIGHT [ADDRESS]
shot() {
    "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=8000 \
        --window-size="$3,$4" --screenshot="$here/$1.png" "file://$folder/$2.html${5:-}" 2>/dev/null
    # A quarter of the bytes, where pngquant is present.
    if command -v pngquant >/dev/null; then pngquant --force --skip-if-larger --ext .png 256 "$here/$1.png" || true; fi
    echo "$1.png"
}

cd "$folder"
"$tidemark" profile --size 2.7B --context 2048 --precision fp32,bf16-mixed --device virtual:h100-80 \
    --warmup 0 --steps 2 >/dev/null || [ $? -eq 3 ] # 3: fp32 does not fit, which is what the picture shows
mv report.html fits.html
"$tidemark" profile --size 2.7B --context 512 --precision fp32,bf16-mixed --attention naive --mode forward-backward \
    --device virtual:h100-80 --warmup 0 --steps 2 >/dev/null
mv report.html compare.html
"$tidemark" profile --d-model 256 --layers 4 --heads 4 --d-ff 1024 --vocab 1000 --context 256 --device cpu \
    --warmup 3 --steps 10 -o one.json.gz >/dev/null
"$tidemark" view one.json.gz -o one.html >/dev/null

shot report fits 1600 1000
shot compare compare 1600 1250 "#panel=differences"
shot one one 1600 1000
shot flame one 1600 1000 "#panel=flame"
shot map one 1600 1000 "#panel=map"
shot events one 1600 1000 "#panel=events"
