# A grid leaves the machine: --list names its cells, --cell runs one of them in a process anywhere, and --merge joins
# their files and names what is missing.
grid=(--device virtual --size small --context 128,256 --batch 1,2 --warmup 0 --steps 1)
run() { tidemark sweep "$@"; echo "exit $?"; }
run "${grid[@]}" --list
run "${grid[@]}" --list --shard 2/2
mkdir cells
for cell in 3 0 1; do
    tidemark sweep "${grid[@]}" --cell "$cell" -o "cells/$cell.jsonl" 2>/dev/null | head -n 1
done
tidemark sweep "${grid[@]}" --cell 2 2>/dev/null | head -n 1
# Killed in the middle of a row: the row counts as missing, and --resume runs its cell.
head -c -200 sweep-cell-2.jsonl >cells/2.jsonl
run --merge cells --list
run --merge cells -o part.jsonl | tail -n 1
run "${grid[@]}" --list --resume -o part.jsonl
tidemark sweep "${grid[@]}" --cell 2 -o cells/2.jsonl --resume | head -n 1
# Any order of the files, and files that hold a cell again, give the same sweep.
run --merge cells -o joined.jsonl | tail -n 1
run --merge cells/2.jsonl part.jsonl cells/3.jsonl -o other.jsonl | tail -n 1
cmp joined.jsonl other.jsonl && echo "the same file"
tidemark sweep "${grid[@]}" --jobs 3 --format csv >whole 2>/dev/null
tidemark sweep --merge joined.jsonl --format csv >joined 2>/dev/null
for table in whole joined; do
    "$golden/csv_columns" "$table" -host_peak_bytes,environment >"$table.rows"
done
cmp whole.rows joined.rows && echo "the same table as in one process"
cmp <(head -n 1 joined.jsonl) <(head -n 1 sweep.jsonl) && echo "the same header"
# Rows of one cell with different figures are refused; one that failed gives way.
sed 's/"reserved_peak_bytes":[0-9]*/"reserved_peak_bytes":1/' cells/1.jsonl >wrong.jsonl
run --merge cells/1.jsonl wrong.jsonl
sed 's/"outcome":"completed"/"outcome":"crashed"/' cells/1.jsonl >crashed.jsonl
run --merge --list --retry crashed.jsonl cells/0.jsonl cells/2.jsonl cells/3.jsonl
run --merge crashed.jsonl cells -o again.jsonl | tail -n 1
cmp joined.jsonl again.jsonl && echo "the same file"
run --merge cells --retry
mkdir empty
run --merge empty
run "${grid[@]}" --cell 4
run "${grid[@]}" --cell 1 --shard 1/2
run "${grid[@]}" --jobs 0 -o jobs.jsonl
run --device cpu --jobs 2 -o jobs.jsonl
