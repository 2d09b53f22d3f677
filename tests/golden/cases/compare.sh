# The command compares fp32 with bf16-mixed on the virtual device, which is deterministic.
tidemark profile --device virtual:h100-80 --precision fp32,bf16-mixed --steps 2 --warmup 0 >/dev/null
tidemark compare small-train-c128-b4-fp32.json.gz small-train-c128-b4-bf16-mixed.json.gz --top 5 | sed -E 's/ +[^ ]+ < .*//; s/ +call stack, .*//'
