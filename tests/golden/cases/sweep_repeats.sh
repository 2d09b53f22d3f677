# A grid that is run several times: each repeat of a cell has a row, and their average is that of all samples.
model="--device cpu --d-model 32 --heads 2 --d-ff 64 --vocab 64 --layers 1 --batch 1 --context 8,16 --warmup 1 --steps 3"
tidemark sweep $model --repeat 2 --list
tidemark sweep $model --repeat 2 -o both.jsonl --format json >both.json
jq -r '.sentences.repeats[], .sentences.repeat_memory[], (.tables.cells.rows[] | "\(.cell) \(.repeat)")' both.json
mean() { # Printed to a thousandth of a millisecond, at least.
    jq -r '.tables.cells.rows | group_by(.context_length)[] | ([.[] | select(.repeat != "average").step_ms] | add / length) as $mean
        | .[] | select(.repeat == "average") | if (.step_ms - $mean | fabs) < 0.002 then "as computed" else "\(.step_ms) is not \($mean)" end' "$1"
}
mean both.json
# The deviation of the average is that of all samples: n - 1 of 6.
jq -r 'select(.result).result.phases.step.device_ms[]' both.jsonl | awk '{ x[NR] = $1 } END {
    for (c = 0; c < 2; c++) { s = q = 0; for (r = 0; r < 2; r++) for (i = 1; i <= 3; i++) { v = x[(c + 2 * r) * 3 + i]; s += v; q += v * v }
        printf "%.6f\n", sqrt((q - s * s / 6) / 5) } }' >computed
jq -r '.tables.cells.rows[] | select(.repeat == "average").step_std_ms' both.json | paste - computed |
    awk '{ print ($1 - $2 < 0.002 && $2 - $1 < 0.002) ? "deviation as computed" : $0 }'
# Two runs of a grid become the repeats of one sweep, in any order and once only.
tidemark sweep $model -o one.jsonl >/dev/null
tidemark sweep $model -o two.jsonl >/dev/null
tidemark sweep --merge one.jsonl two.jsonl; echo "exit $?"
tidemark sweep --merge two.jsonl one.jsonl --repeat 2 -o joined.jsonl --format json >joined.json; echo "exit $?"
mean joined.json
tidemark sweep --merge joined.jsonl one.jsonl --repeat 2 --format json | cmp - joined.json && echo "the same rows"
head -1 joined.jsonl | cmp - <(head -1 both.jsonl) && echo "the grid of --repeat 2"
tidemark sweep --merge both.jsonl one.jsonl --repeat 2; echo "exit $?"
# A third repeat is run behind them.
tidemark sweep --merge joined.jsonl --repeat 3 -o three.jsonl --list; echo "exit $?"
tidemark sweep $model --repeat 3 -o three.jsonl --resume --format json | jq -c '[.figures.rows, .figures.cells, .figures.repeats]'
tidemark sweep $model --repeat 2 -o three.jsonl --resume; echo "exit $?"
tidemark sweep $model -o three.jsonl --resume; echo "exit $?"
# Memory that differs is said, and the average does not have it.
sed '3s/"requested_peak_bytes":[0-9]*/"requested_peak_bytes":230000/' two.jsonl >other.jsonl
tidemark sweep --merge one.jsonl other.jsonl --repeat 2 --format json |
    jq -c '.sentences.repeat_memory, .figures.cells_with_unequal_memory, [.tables.cells.rows[] | select(.repeat == "average").requested_peak_bytes]'
# One cell, a part, and a cell that does not fit.
virtual="--device virtual --size small --layers 1 --context 8,16 --warmup 0 --steps 2"
tidemark sweep $virtual --repeat 2 --cell 3 -o cell.jsonl --format csv | grep -v '^#' | cut -d, -f 1,10
tidemark sweep $virtual --repeat 2 --shard 2/2 -o part.jsonl --format csv | grep -v '^#' | cut -d, -f 1,10
tidemark sweep $virtual --context 8 --repeat 2 --memory-limit 20MiB -o full.jsonl --format csv | grep -v '^#' | cut -d, -f 1,10,11
tidemark sweep $virtual --repeat 0; echo "exit $?"
tidemark sweep $virtual --repeat 5001; echo "exit $?"
tidemark sweep --merge one.jsonl --repeat 10000; echo "exit $?"
# A command of yours has repeats, too.
tidemark sweep --device virtual:h100-80 --set n=1,2 --repeat 2 --list -- python train.py '{n}'
