#!/usr/bin/env bash
# Launch logs of the configurations that have published times: make_logs.sh TIDEMARK PYTHON TIMES.csv FOLDER
# One log each for FOLDER/SIZE-CONTEXT-fp32.launches and -bf16.launches; those that are there already stay.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tidemark=$1 python=$2 times=$3 folder=$4
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cut -d, -f6,12,13 "$times" | sed 1d | sed 's/tf32/fp32/' | sort -u | while IFS=, read -r size context precision; do
    log=$folder/$size-$context-$precision.launches
    [ ! -e "$log" ] || continue
    # B200 has room for every one of them; what is launched does not depend on the card.
    "$tidemark" run --device virtual:b200 --memory-limit 1000GiB --stacks none --launch-log "$log" -o "$scratch/run.json.gz" \
        -- "$python" -B "$here/staff_steps.py" "$size" "$context" "$precision" 5 </dev/null >/dev/null 2>"$scratch/errors" || {
        cat "$scratch/errors" >&2
        exit 1
    }
done
