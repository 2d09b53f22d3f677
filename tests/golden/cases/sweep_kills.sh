# Cells that run at once and are killed at random have rows that say so; --resume --retry runs them again, and the table is
# that of a sweep that nobody disturbed.
grid=(--device virtual --size small,medium --mode forward,train --context 64,128,192,256,320,384,448,512
    --batch 1,2,3,4,5,6,7,8 --warmup 0 --steps 2)
tidemark sweep "${grid[@]}" --jobs 4 -o rows.jsonl >/dev/null 2>&1 &
sweep=$!
# A cell that has just ended stays among the children until the sweep has taken note of it, and a kill no longer changes
# its row. So the youngest is killed, and the rows say when that has worked.
n_rows=0
while [ "$n_rows" -lt 5 ] && kill -0 "$sweep" 2>/dev/null; do
    cells=()
    read -r -a cells <"/proc/$sweep/task/$sweep/children" 2>/dev/null
    # The first of its children may be looking for the device: cells begin when the file is there.
    if [ -e rows.jsonl ] && [ "${#cells[@]}" -gt 0 ] && kill -9 "${cells[-1]}" 2>/dev/null; then
        n_rows=$(grep -c '"outcome":"crashed".*"signal":9' rows.jsonl)
    fi
done
wait "$sweep"
echo "exit $?"
grep -q '"outcome":"crashed".*"signal":9' rows.jsonl && echo "rows say that cells were killed"
tidemark sweep "${grid[@]}" --resume --list -o rows.jsonl | wc -l
tidemark sweep "${grid[@]}" --resume --retry --jobs 4 -o rows.jsonl --format csv >retried 2>/dev/null
echo "exit $?"
tidemark sweep "${grid[@]}" -o whole.jsonl --format csv >whole 2>/dev/null
for table in whole retried; do
    "$golden/csv_columns" "$table" -host_peak_bytes,environment >"$table.rows"
done
cmp whole.rows retried.rows && echo "the same table"
