# fp32 against bf16-mixed, on a device that is deterministic.
tidemark profile --device virtual:h100-80 --precision fp32,bf16-mixed --steps 2 --warmup 0 >/dev/null
tidemark compare small-train-c128-b4-fp32.json.gz small-train-c128-b4-bf16-mixed.json.gz --top 5 | sed -E 's/ +[^ ]+ < .*//; s/ +call stack, .*//'
