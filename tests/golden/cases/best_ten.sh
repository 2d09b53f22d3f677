# The best of N x 10 beside the mean, against the samples of the snapshot; less than ten steps have none.
model="--device cpu --d-model 32 --heads 2 --d-ff 64 --vocab 64 --layers 1 --batch 1 --context 8 --warmup 0"
tidemark profile $model --steps 25 -o run.json --format json >report.json
best() { jq -r ".timing.phases[] | select(.name == \"step\").$1 | [.[0:10], .[10:20]] | map(add / 10) | min" run.json; }
# Both print the figure to a thousandth of a millisecond or better.
same() { jq -n --argjson a "$1" --argjson b "$2" 'if ($a - $b | fabs) < 0.0011 then "as computed" else "\($a) is not \($b)" end'; }
same "$(jq '.tables.phases.rows[] | select(.phase == "step").best_ten_ms' report.json)" "$(best device_ms)"
tidemark summary run.json --table timing --format json >summary.json
for clock in device host; do
    same "$(jq ".tables.timing.rows[] | select(.phase == \"step\" and .clock == \"$clock\").best_ten_ms" summary.json)" "$(best ${clock}_ms)"
done
tidemark summary run.json --table timing | grep -o 'best of.*'
tidemark profile $model --steps 9 -o few.json --format json | jq '.tables.phases.columns // (.tables.phases.rows[0] | keys)' -c
