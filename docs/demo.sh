#!/usr/bin/env bash
# The demonstration behind ./dev demo: docs/demo.sh TIDEMARK FOLDER
#
# Where a PyTorch with CUDA is installed, a small PyTorch program runs on a virtual card first.
#
# One question, without a GPU: does a training step of a 2.7B model, context 2048, batch 4, bf16-mixed, fit an 80 GB card?
# The forecast for PyTorch answers first, then tidemark's own model in C. The script records the last two runs, which
# differ only in the program, and compares them. The output of the commands goes to FOLDER/demo.log.
set -euo pipefail
tidemark=$(realpath "$1")
examples=$(realpath "$(dirname "$0")/examples")
mkdir -p "$2"
cd "$2"
log=$PWD/demo.log
: >"$log"

fail() { # STATUS WHAT
    printf '%s failed (exit status %s); the last lines of %s:\n' "$2" "$1" "$log" >&2
    tail -n 15 "$log" >&2
    exit "$1"
}

# Exit status 3 means that a run does not fit, which is a valid answer here.
run() { # WHAT COMMAND...
    local what=$1
    status=0
    shift
    printf '$ tidemark %s\n' "${*:2}" >>"$log"
    "$@" >>"$log" 2>&1 || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "$status" "$what"
}

# A Python whose PyTorch runs on a virtual card; "" if there is none here, or TIDEMARK_PYTORCH is "none".
find_torch() {
    local python
    for python in "${TIDEMARK_PYTORCH:-${XDG_CACHE_HOME:-$HOME/.cache}/tidemark/pytorch-2.14.1}/bin/python" python3; do
        if [ "${TIDEMARK_PYTORCH:-}" != none ] && "$python" -c 'import torch; assert torch.version.cuda' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}

python=$(find_torch)
if [ -n "$python" ]; then
    echo "A small GPT in PyTorch, batch 32, on a virtual RTX 4090:"
    "$tidemark" run --device virtual:rtx4090 --need --steps 3 -o train.json.gz --html train.html -- "$python" "$examples/train.py" \
        --batch 32 2>&1 | tee -a "$log" | sed -n 's/^tidemark run: /  /p' | fold -s -w 120 || true
    echo "The report of that run: $PWD/train.html"
    echo
fi

model=(--size 2.7B --context 2048 --batch 4 --precision bf16-mixed --device virtual:h100-80)
steps=(--mode train --attention flash --warmup 0 --steps 2)
run "the forecast" "$tidemark" forecast "${model[@]}" --format csv
run "PyTorch's run" "$tidemark" profile "${model[@]}" "${steps[@]}" --emulate pytorch -o pytorch.json.gz
run "tidemark's run" "$tidemark" profile "${model[@]}" "${steps[@]}" -o tidemark.json.gz
own_fits=$([ "$status" -eq 0 ] && echo yes || echo no)
own=$("$tidemark" summary tidemark.json.gz --format csv --table maxima 2>>"$log" | awk -F, '$1 == "allocated" { print $2 }') ||
    fail 1 "the summary of tidemark's run"

# The text keeps the sentence, the runs and the categories; the report has the other tables.
"$tidemark" compare pytorch.json.gz tidemark.json.gz 2>>"$log" | sed '/^Alive at the peak, by layer kind/,$d' |
    fold -s -w 120 >comparison.txt || fail 1 "the comparison"
run "the report" "$tidemark" view pytorch.json.gz tidemark.json.gz -o report.html

answer() { # WHO ATTENTION BYTES YES|NO
    printf '  %-25s  %-15s  %10s  %s\n' "$1" "$2 attention" "$(awk -v n="$3" 'BEGIN { printf "%.2f GiB", n / 1073741824 }')" \
        "$([ "$4" = yes ] && echo fits || echo does not fit)"
}
echo "Does a training step of a 2.7B model (context 2048, batch 4, bf16-mixed) fit an 80 GB card?"
changes=$(sed -n '/^change,/,/^tidemark /p' "$log")
naive=$(grep '^none,' <<<"$changes")
flash=$(grep '^flash attention,' <<<"$changes")
answer "PyTorch, eager" naive "$(cut -d, -f3 <<<"$naive")" "$(cut -d, -f2 <<<"$naive")"
answer "PyTorch, eager" flash "$(cut -d, -f3 <<<"$flash")" "$(cut -d, -f2 <<<"$flash")"
answer "tidemark's own model in C" flash "$own" "$own_fits"
smallest=$(awk -F, '$2 == "yes" && !n++ { print $1 }' <<<"$changes")
echo "The smallest change with which PyTorch's run fits: ${smallest:-none that was tried}."
echo "PyTorch's run with flash attention beside tidemark's own, in words: $PWD/comparison.txt"
echo "The same as a page, to be opened in a browser: $PWD/report.html"
