# The preset size supplies the keys that the file omits, and the command line overrides the file.
echo '{"size": "small", "n_layers": 2, "d_model": 64, "n_heads": 4, "d_ff": 128, "vocab_size": 1000}' >model.json
tidemark profile --device virtual --config model.json --heads 2 --context 32 --batch 2 --steps 1 --warmup 0
gunzip -c custom-train-c32-b2-fp32.json.gz | jq -c .run.model
