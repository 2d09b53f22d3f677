# The virtual device is deterministic to the byte.
tidemark profile --device virtual:h100-80 --size 2.7B --context 512 --steps 2 --warmup 0
gunzip -c 2.7B-train-c512-b4-fp32.json.gz | jq -c '.summary[0].max'
