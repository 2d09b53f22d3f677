# Parts of a grid, as a job array runs them, and their joining.
run() { tidemark sweep "$@"; echo "exit $?"; }
for part in 1 2 3; do
    tidemark sweep --device virtual --size small,medium --mode forward,train --warmup 0 --steps 1 --shard "$part/3" |
        head -n 1
done
tidemark sweep --device virtual --size small,medium --mode forward,train --warmup 0 --steps 1 --format csv >whole
tidemark sweep --merge sweep-3-of-3.jsonl sweep-1-of-3.jsonl sweep-2-of-3.jsonl -o joined.jsonl --format csv >joined
# The same but for what differs from run to run: resident memory and dates.
for table in whole joined; do
    cut -d, -f1-26,28-30 "$table" >"$table.rows"
done
cmp whole.rows joined.rows && echo "the same table"
run --merge sweep-1-of-3.jsonl sweep-3-of-3.jsonl | sed -n '1p;$p'
run --merge sweep-1-of-3.jsonl joined.jsonl
run --merge joined.jsonl -o sweep.jsonl
tidemark sweep --device virtual -o other.jsonl >table
run --merge sweep-1-of-3.jsonl other.jsonl
run --merge
run --merge table
# What joining has no use for is named, also where it has the value of the files or the usual one.
for option in resume retry strip-private "shard 1/3" "snapshots folder" "size small" "mode train" "context 128" \
    "steps 10" "device virtual" "workload mlp"; do
    run --merge joined.jsonl --${option}
done
run joined.jsonl
run --shard 4/3
run --retry
# What varies over the whole grid is a column of a part, too.
tidemark sweep --size small --device virtual --batch 1,2 --warmup 0 --steps 1 --shard 1/2 -o column.jsonl 2>/dev/null | grep -c '^  size   batch'
