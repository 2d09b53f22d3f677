# Scripts use --fail-if as a gate: a condition can hold (exit 4), not hold, not be judged (exit 1) or be invalid (exit 2).
run() { tidemark profile --device virtual --layers 2 --mode forward-backward --steps 1 --warmup 0 "$@" >/dev/null 2>&1; }
try() { tidemark compare "$@" | sed -n '/^Conditions/,$p'; echo "exit ${PIPESTATUS[0]}"; }
run -o a.json.gz
run -o b.json.gz --batch 32
run -o oom.json.gz --memory-limit 300MiB
try a.json.gz b.json.gz --fail-if 'peak_allocated > +2%' --fail-if 'category:activation>=+50%' --fail-if 'n_device_allocs < -1' 2>&1
try a.json.gz b.json.gz --fail-if 'peak_reserved > 24GiB' --fail-if 'end_allocated > +0%' 2>&1
try a.json.gz a.json.gz b.json.gz --fail-if 'n_allocs > +0' --fail-if 'peak_active <= -1MiB' 2>&1
try a.json.gz b.json.gz --fail-if 'time_forward > +5%' 2>&1
try a.json.gz oom.json.gz b.json.gz --fail-if 'peak_requested > +1KiB' 2>&1
tidemark compare a.json.gz b.json.gz --fail-if 'peak_allocated > +2%' --format csv --table fail_if 2>/dev/null
tidemark compare a.json.gz b.json.gz --fail-if 'peak_allocated > +2%' --format json 2>/dev/null | jq -c '.tables.fail_if.rows[]'
for condition in 'peak_alocated > +2%' 'peak_allocated = 5' 'peak_allocated > 2%' 'category:activations > 0' 'time_step > 5' ''; do
    tidemark compare a.json.gz b.json.gz --fail-if "$condition"
    echo "exit $?" >&2
done
