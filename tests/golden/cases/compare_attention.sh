# Attention kinds and recompute, forward and backward only.
tidemark profile --device virtual --layers 4 --context 512 --mode forward-backward --attention flash,naive --recompute none,block \
    --steps 1 --warmup 0
