# A language model that decodes: its memory and the bytes of a token on virtual cards; how many sequences fit; the cpu
# and the virtual device give the same events; what is refused.
options="--workload decode --warmup 0 --steps 1"
for model in llama-2-7B-bf16 llama-2-7B-int8; do
    tidemark profile $options --language-model $model --device virtual:a100-40 -o $model.json.gz
done
tidemark profile $options --language-model mixtral-8x7B-int8 --layers 16 --device virtual:a100-40 -o run.json.gz --format json |
    jq -c '.figures | {weight_bytes, cache_bytes, read_bytes, token_bytes, requested_peak_bytes}'
zcat run.json.gz | jq -c '.run | .model, [.mode, .precision, .attention, .context_length, .batch_size]'
tidemark fit --workload decode --language-model llama-2-7B-int8 --context 1024 --new-tokens 256 --device virtual:a100-40
tidemark fit --workload decode --find context --device virtual:h100-80 --new-tokens 100 --format csv | head -3
for device in cpu virtual; do
    tidemark profile $options --language-model tiny-moe-int8 --batch 2 --overhead-pairs 0 --device $device -o $device.json.gz >/dev/null
    tidemark dump $device.json.gz | cut -f1,3- >$device.txt # every column except the time
done
cmp cpu.txt virtual.txt && [ "$(wc -l <cpu.txt)" -gt 700 ] && echo "the same events"
tidemark profile $options --device cpu --memory-limit 1GiB # a limit: the answer is the same whatever the host has free
tidemark profile $options --device virtual --size small
tidemark profile $options --device virtual --mode train
tidemark profile $options --device virtual --context 4000
tidemark profile --device virtual --new-tokens 3
tidemark fit --workload decode --find model --device virtual:a100-40
tidemark fit --workload mlp --device virtual:a100-40
