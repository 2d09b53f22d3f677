# Cells that run at once and are killed at random have rows that say so; --resume --retry runs them again, and the table is
# that of a sweep that nobody disturbed.
grid=(--device virtual --size small,medium --mode forward,train --context 64,128,192,256,320,384,448,512
    --batch 1,2,3,4,5,6,7,8 --warmup 0 --steps 2)
tidemark sweep "${grid[@]}" --jobs 4 -o rows.jsonl >/dev/null 2>&1 &
sweep=$!
n_killed=0
while [ "$n_killed" -lt 5 ] && kill -0 "$sweep" 2>/dev/null; do
    cells=()
    read -r -a cells <"/proc/$sweep/task/$sweep/children" 2>/dev/null
    # The first of its children may be looking for the device: cells begin when the file is there.
    if [ -e rows.jsonl ] && [ "${#cells[@]}" -gt 0 ] && kill -9 "${cells[0]}" 2>/dev/null; then
        n_killed=$((n_killed + 1))
        sleep 0.02
    fi
done
wait "$sweep"
echo "exit $?"
[ "$n_killed" -gt 0 ] && echo "cells were killed"
grep -q '"outcome":"crashed".*"signal":9' rows.jsonl && echo "a row says so"
tidemark sweep "${grid[@]}" --resume --list -o rows.jsonl | wc -l
tidemark sweep "${grid[@]}" --resume --retry --jobs 4 -o rows.jsonl --format csv >retried 2>/dev/null
echo "exit $?"
tidemark sweep "${grid[@]}" -o whole.jsonl --format csv >whole 2>/dev/null
for table in whole retried; do
    "$golden/csv_columns" "$table" -host_peak_bytes,environment >"$table.rows"
done
cmp whole.rows retried.rows && echo "the same table"
