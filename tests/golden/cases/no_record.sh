tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 --no-record
gunzip -c custom-train-c128-b4-fp32.json.gz | jq -c '[(.events.action | length), .timing.warmup_steps, .timing.measured_steps]'
