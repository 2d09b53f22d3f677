# Every format prints the same rows.
tidemark profile --device virtual --layers 1 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 1 \
    --warmup 0 -o run.json.gz >/dev/null
for format in text markdown csv latex json; do
    tidemark summary run.json.gz --format $format >report.$format 2>notes.$format
    echo "$format: exit $?, $(grep -c 'optimizer.\?_state' report.$format) lines name optimizer_state"
done
jq -r '.tables.by_category.rows[0] | keys_unsorted | join(" ")' report.json
