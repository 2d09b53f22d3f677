# The command lists the differences at the peak row by row: for two precisions, for more layers and for a run against
# itself. The columns add up in every format.
run() { tidemark profile --device virtual --d-model 64 --heads 4 --d-ff 128 --vocab 500 --batch 2 --mode forward-backward --steps 1 --warmup 0 "$@" >/dev/null; }
run -o a.json.gz --layers 2 --context 64
run -o b.json.gz --layers 2 --context 64 --precision bf16-mixed
run -o c.json.gz --layers 3 --context 64
rows() { sed -n '/^What differs/,/^$/p' | sed -E 's/ +[^ ]+ < .*//; s/ +call stack.*//'; }
tidemark compare a.json.gz b.json.gz c.json.gz --top 4 | rows
tidemark compare a.json.gz b.json.gz --top 3 --format markdown | grep -A 20 'What differs' | cut -d '|' -f 1-10
tidemark compare a.json.gz a.json.gz | rows
tidemark compare a.json.gz b.json.gz c.json.gz --top 5 --format json |
    jq -c '.tables.rows.rows | [.[:-1], .[-1:]] | map([(map(.run1_bytes) | add), (map(.run2_bytes) | add), (map(.run3_bytes) | add)])'
tidemark compare a.json.gz b.json.gz --format csv --table layer_kinds | grep '^layer_kind\|^attn'
tidemark compare a.json.gz b.json.gz --top 0
