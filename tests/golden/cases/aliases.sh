# The program accepts spellings that users know from other tools.
tidemark profile --device=virtual --model-size=small --context-length 64 --batch-size 1 --num-layers 1 --num-heads 4 \
    --warmup-steps 1 --measure-steps 1 --precision bf16 --strip-private
gunzip -c custom-train-c64-b1-bf16-mixed.json.gz |
    jq -c '.run | [.command, .host.name, .model.n_layers, .model.n_heads, .context_length, .batch_size, .precision]'
