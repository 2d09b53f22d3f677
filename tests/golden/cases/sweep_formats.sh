# Every format prints the same rows in the same order.
for format in text markdown csv latex; do
    echo "--- $format"
    tidemark sweep --merge "$golden/snapshots/sweep.jsonl" --format "$format"
    echo "exit $?"
done
echo "--- json"
tidemark sweep --merge "$golden/snapshots/sweep.jsonl" --format json >table.json
jq -c '.tables.cells.rows[] | [.cell, .outcome, .step_ms, .peak_percent, .reserved_peak_bytes, .environment]' table.json
jq -c '.tables.cells.rows[0], .figures' table.json
