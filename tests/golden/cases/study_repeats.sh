# Each repeat has a row, and the average is that of all samples: of as many in each, the mean of their means.
model="--device cpu --d-model 32 --heads 2 --d-ff 64 --vocab 64 --layers 1 --batch 1 --context 8 --steps 3"
tidemark study warmup $model --warmup 0,1 --repeat 3 --format json >report.json 2>/dev/null
jq -r '.sentences.setting[0]' report.json | grep -o '3 repeats'
jq -r '.tables.repeats.rows[] | "\(.warmup) \(.repeat)"' report.json
# Printed to a thousandth of a millisecond, at least.
jq -r '.tables.repeats.rows | group_by(.warmup)[] | ([.[] | select(.repeat != "average").step_ms] | add / length) as $mean
    | .[] | select(.repeat == "average") | if (.step_ms - $mean | fabs) < 0.002 then "as computed" else "\(.step_ms) is not \($mean)" end' report.json
jq -r '[.tables.times.rows[].step_ms] == [.tables.repeats.rows[] | select(.repeat == "average").step_ms]' report.json
# A repeat that does not fit is the last.
tidemark study end-to-end --device cpu --size small --layers 1 --memory-limit 20MiB --steps 1 --repeat 3 --format json 2>/dev/null >oom.json
echo "exit $?"
jq -r '.tables.repeats.rows[].repeat, .tables.times.rows[0].outcome' oom.json
tidemark study memory --repeat 2 --device virtual; echo "exit $?"
tidemark study warmup --repeat 0; echo "exit $?"
tidemark study warmup --repeat 65; echo "exit $?"
