# A sweep on the virtual device prints a row for each cell, also for invalid cells and those that do not fit. With
# --resume it does not run finished cells again.
set -- --device virtual --size small --context 0,128 --precision fp32,bf16-true --memory-limit 1GiB --warmup 0 --steps 1
tidemark sweep "$@" --format csv -o rows.jsonl >table.csv
echo "exit $?"
"$golden/csv_columns" table.csv mode,context_length,batch_size,precision,outcome,requested_peak_bytes,allocated_peak_bytes,reserved_peak_bytes,asked_bytes,segment_bytes,free_bytes
tidemark sweep "$@" --format text -o rows.jsonl
echo "exit $?"
cp rows.jsonl whole.jsonl
tidemark sweep "$@" --resume -o rows.jsonl | head -n 2
cmp rows.jsonl whole.jsonl && echo "nothing was run again"
# The file now ends as kill -9 would leave it.
head -c -700 whole.jsonl >rows.jsonl
tidemark sweep "$@" --resume -o rows.jsonl | head -n 1
tidemark sweep "$@" --seed 1 --resume -o rows.jsonl
echo "exit $?"
jq -r 'select(.name) | .name' rows.jsonl
tidemark sweep "$@" --snapshots kept -o recorded.jsonl >table
ls kept
tidemark summary kept/*fp32.json.gz | head -n 3
# Cells of an MLP have no columns for transformer options, and a transformer's sweep cannot continue their file.
set -- --device virtual --dim 64 --layers 2 --batch 16,32 --mode train --warmup 0 --steps 1 -o mlp.jsonl
tidemark sweep --workload mlp "$@" --format csv >table.csv
echo "exit $?"
"$golden/csv_columns" table.csv size,mode,context_length,batch_size,precision,attention,recompute,outcome,requested_peak_bytes,allocated_peak_bytes,reserved_peak_bytes
tidemark sweep --workload mlp "$@" --resume --format markdown | sed -n '/^every/p; /^| /p' | cut -d'|' -f1-6
tidemark sweep --heads 2 "$@" --resume
echo "exit $?"
tidemark sweep --workload mlp "$@" --context 64
echo "exit $?"
# The cpu device counts its own segments.
tidemark sweep --workload mlp --device cpu --dim 16 --layers 2 --batch 2 --warmup 0 --steps 1 -o cpu.jsonl | grep '^in use'
