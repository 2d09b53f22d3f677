# The tables by category, by scope and by call stack each add up to the allocated bytes at the peak.
tidemark profile --device virtual --layers 3 --context 64 --steps 2 --warmup 0 -o run.json.gz >/dev/null
gunzip -c run.json.gz | jq -c '.summary[0].peak | [.allocated_bytes, ([.by_category | .. | numbers] | length > 0)]'
tidemark summary run.json.gz --format json | jq -c '.tables[] | select(.title | startswith("Alive")) | [.title, ([.rows[].bytes] | add)]'
