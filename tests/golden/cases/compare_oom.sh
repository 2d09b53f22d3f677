# A run that ran out of memory has no ratios. The command describes a run of another workload without comparing it.
run() { tidemark profile --device virtual --layers 2 --steps 1 --warmup 0 "$@" >/dev/null 2>&1; echo "exit $?" >&2; }
run -o base.json.gz --memory-limit 400MiB
run -o other.json.gz --precision bf16-true
run -o longer.json.gz --context 256
tidemark compare base.json.gz other.json.gz longer.json.gz --top 5 | sed -E 's/ +[^ ]+ < .*//; s/ +call stack, .*//'
tidemark compare other.json.gz longer.json.gz --format json | jq -r '.sentences.comparison[]'
