# The run writes a snapshot after every second step, warm-up included. Each holds the events up to that step only.
tidemark profile --device virtual --d-model 64 --layers 2 --heads 2 --warmup 1 --steps 4 --snapshot-every 2 -o run.json.gz \
    >table 2>messages
echo "status $?"
sed -E 's/[0-9]+\.[0-9]+ ms/T ms/g' messages
for file in run.step-2.json.gz run.step-4.json.gz run.json.gz; do
    zcat "$file" | jq -c '[.run.outcome, .timing.measured_steps, ([.scopes.kind[] | select(. == 0)] | length), (.events.action | length)]'
done
tidemark summary run.step-2.json.gz | grep '^note'
# The rows of such a snapshot equal the first rows of the final one. The command refuses names that it cannot use.
tidemark dump run.step-4.json.gz | grep -v '^#' >first
tidemark dump run.json.gz | grep -v '^#' | head -n "$(wc -l <first)" | cmp - first && echo "the same rows"
for option in "--snapshot-every 0" "--snapshot-every x" "--snapshot-signal KILL" "--snapshot-signal 11"; do
    # shellcheck disable=SC2086
    tidemark profile --device virtual $option
    echo "status $?"
done 2>&1 | sed -E 's/from [0-9]+ to [0-9]+/from N to N/'
