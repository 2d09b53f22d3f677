tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 --no-record
gunzip -c custom-train-c128-b4-fp32.json.gz | jq -c '[(.events.action | length), .timing.warmup_steps, .timing.measured_steps]'
tidemark summary custom-train-c128-b4-fp32.json.gz
tidemark explain custom-train-c128-b4-fp32.json.gz
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o recorded.json.gz >/dev/null
tidemark compare custom-train-c128-b4-fp32.json.gz recorded.json.gz
