# The command compares a run with the forecast of the same run in eager PyTorch, tensor by tensor.
tidemark profile --size small --layers 2 --context 256 --device virtual:h100-80 --warmup 1 --steps 1 -o own.json.gz >profiled
tidemark compare own.json.gz pytorch:2026 --top 5 | sed -n '/^PyTorch, eager, alloc/,$p'
tidemark compare own.json.gz pytorch:2025 --top 3 --format csv --table beside_tensors
tidemark profile --size small --layers 2 --precision bf16-true --device virtual --warmup 0 --steps 1 -o true.json.gz >profiled
tidemark compare true.json.gz pytorch:2026; echo "exit $?"
tidemark compare own.json.gz pytorch:2024; echo "exit $?"
tidemark profile --workload mlp --device virtual --warmup 0 --steps 1 -o mlp.json.gz >profiled
tidemark compare mlp.json.gz pytorch:2026; echo "exit $?"
