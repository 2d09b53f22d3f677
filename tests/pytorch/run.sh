#!/bin/sh
# Exports snapshots and checks the files by the rules of the tools that read them: run.sh TIDEMARK SHARED
# It exports our own runs on virtual devices, and real PyTorch snapshots where SHARED (or TIDEMARK_SHARED) has them.
set -eu
tidemark=$1
shared=${TIDEMARK_SHARED:-$2}
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || {
    echo "skipped: python3 is absent"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Columns of a dump that both formats hold: all but index, time and scope.
rows() { "$tidemark" dump "$1" | cut -f3-9,11; }

# Reading the export restores every row, including the block sizes, which the format does not store.
own() {
    name=$1
    shift
    "$tidemark" profile --size small --warmup 0 "$@" -o "$name.json.gz" >/dev/null 2>&1 || [ $? -eq 3 ]
    "$tidemark" export "$name.json.gz" --to pytorch -o "$name.pickle"
    "$tidemark" export "$name.json.gz" --to pytorch-json -o "$name.json"
    printf '%s: ' "$name"
    python3 "$here/check_export.py" "$name.pickle" --json "$name.json"
    rows "$name.json.gz" >before
    rows "$name.pickle" >after
    cmp before after
}
own train --device virtual --layers 4 --steps 2
own bf16 --device virtual:h100-80 --precision bf16-mixed --layers 4 --steps 2
own oom --device virtual --layers 4 --steps 1 --memory-limit 512MiB
own forward --device virtual --layers 2 --mode forward --steps 1
own eager --emulate pytorch --device virtual:h100-80 --precision bf16-mixed --layers 2 --steps 2

for original in "$shared"/pytorch-snapshots/*.pickle; do
    [ -e "$original" ] || {
        echo "no folder pytorch-snapshots in TIDEMARK_SHARED: its files are not checked"
        break
    }
    name=$(basename "$original" .pickle)
    "$tidemark" export "$original" --to pytorch -o "$name.pickle"
    printf '%s: ' "$name"
    python3 "$here/check_export.py" "$name.pickle" --original "$original"
    # Reading the export and exporting it again gives the same file.
    "$tidemark" export "$name.pickle" --to pytorch -o again.pickle
    cmp "$name.pickle" again.pickle
done
