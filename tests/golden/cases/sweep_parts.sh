# A job array runs the parts of a grid, and --merge combines them.
run() { tidemark sweep "$@"; echo "exit $?"; }
for part in 1 2 3; do
    tidemark sweep --device virtual --size small,medium --mode forward,train --warmup 0 --steps 1 --shard "$part/3" |
        head -n 1
done
tidemark sweep --device virtual --size small,medium --mode forward,train --warmup 0 --steps 1 --format csv >whole
tidemark sweep --merge sweep-3-of-3.jsonl sweep-1-of-3.jsonl sweep-2-of-3.jsonl -o joined.jsonl --format csv >joined
# The joined sweep equals the whole sweep except for resident memory and dates, which differ between runs.
for table in whole joined; do
    "$golden/csv_columns" "$table" -host_peak_bytes,environment >"$table.rows"
done
cmp whole.rows joined.rows && echo "the same table"
run --merge sweep-1-of-3.jsonl sweep-3-of-3.jsonl | sed -n '1p;$p'
run --merge sweep-1-of-3.jsonl joined.jsonl | tail -n 1
run --merge joined.jsonl -o sweep.jsonl
tidemark sweep --device virtual -o other.jsonl >table
run --merge sweep-1-of-3.jsonl other.jsonl
run --merge
run --merge table
# The message names an option that --merge does not use, even when its value is the default or that of the files.
for option in resume retry strip-private "shard 1/3" "snapshots folder" "size small" "mode train" "context 128" \
    "steps 10" "device virtual" "workload mlp"; do
    run --merge joined.jsonl --${option}
done
run joined.jsonl
run --shard 4/3
run --retry
# A part has a column for every option that varies over the whole grid.
tidemark sweep --size small --device virtual --batch 1,2 --warmup 0 --steps 1 --shard 1/2 -o column.jsonl 2>/dev/null | grep -c '^  size   batch'
