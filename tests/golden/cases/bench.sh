# A brief run prints every workload, variant and target. Its figures are meaningless, so the case removes them.
for name in allocator recorder; do
    tidemark bench "$name" --brief --rounds 2 --samples --format json >"$name.json" || echo "exit status $?"
    jq -r '.tables.targets.rows[] | "\(.quantity): \(.unit) \(.at_most)"' "$name.json"
    jq -r '.tables.pairs.rows[] | "\(.workload) \(.variant) \(.min_ns > 0)"' "$name.json"
    jq '[.tables.samples.rows[]] | length' "$name.json"
done
tidemark bench symbols --brief --rounds 2 --format json |
    jq -r '.tables[].rows[] | "\(.quantity // .variant): \(.at_most // (.min_ns > 0))"'
tidemark bench allocator --rounds 0
echo "exit status $?"
tidemark bench alocator
echo "exit status $?"
