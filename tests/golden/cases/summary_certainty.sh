# The summary says how much of the memory has a category that the program named, one that follows from a rule, and none.
# The column is invented: as live recordings have it. Scopes without an interval are scopes like any other.
tidemark profile --device virtual --layers 1 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 1 \
    --warmup 0 -o run.json.gz >/dev/null
gzip -dc run.json.gz | jq -c '.events.certainty = [.events.category[] | if . == 1 or . == 3 then 2 elif . == 0 then 0 else 1 end]
    | .events.certainty[5] = 0 | .scopes.duration = [.scopes.kind[] | if . >= 2 then -2 else 1000 end]' >live.json
tidemark summary live.json | sed -n '/^Alive.*by category/,/^Where/p'
tidemark summary live.json --top 2 | sed -n '/^Alive.*by scope/,/^$/p; /^Largest/,/^$/p'
for format in markdown csv latex; do
    tidemark summary live.json --format $format --table by_certainty 2>/dev/null
done
tidemark summary live.json --format json |
    jq -c '.tables.by_certainty.rows[] , ([.tables.by_certainty.rows[].bytes] | add) == .figures.allocated_bytes'
tidemark dump live.json | cut -f 8,12 | sort | uniq -c | head -n 4
# Other files say nothing of it.
tidemark summary run.json.gz --format json | jq -c '.tables.by_certainty, .tables.blocks.columns'
# A program that reads the file finds the sums in it.
tidemark export live.json --to tidemark -o again.json.gz >/dev/null
gzip -dc again.json.gz | jq -c '.summary[0].peak.by_certainty | map_values(.bytes)'
