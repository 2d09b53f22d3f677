# Tables of runs of tidemark's own model on a virtual card have the forecast of a step, its range and what it is bound by.
tidemark sweep --size small --layers 2 --device virtual:h100-80 --mode forward,train --precision fp32,bf16-mixed --format csv -o rows.jsonl >table 2>message
"$golden/csv_columns" table cell forecast_bound | tr '\n' ' ' && echo
for column in forecast_step_low_ms forecast_step_ms forecast_step_high_ms; do
    "$golden/csv_columns" table $column | sed -E 's/(\.[0-9]{3})[0-9]*/\1/' | tr '\n' ' ' && echo
done
tidemark sweep --merge rows.jsonl | sed -n '/^times/p;/^  size/,$p' | sed -E 's/completed .* (MiB|GiB) +(([0-9.]+ ms|step,))/completed \2/'
tidemark study end-to-end --size small --context 128,512 --device virtual:h200 --precision bf16-mixed --steps 2
