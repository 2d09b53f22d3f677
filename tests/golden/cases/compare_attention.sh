# The command compares attention kinds and recomputation in forward-backward runs.
tidemark profile --device virtual --layers 4 --context 512 --mode forward-backward --attention flash,naive --recompute none,block \
    --steps 1 --warmup 0
