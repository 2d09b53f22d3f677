# The command says in one line whether a PyTorch run fits a card, and it refuses invalid requests.
status() { "$@" || echo "exit $?"; }
status tidemark forecast --size 2.7B --context 1024 --precision bf16-mixed --device virtual:h100-80
status tidemark forecast --size 2.7B --context 512 --device virtual:h100-80 --edition 2025
status tidemark forecast --size medium --mode forward --memory-limit 2GiB
status tidemark forecast --size large --context 512 --memory-limit 20GiB --details
status tidemark forecast --size small --recompute block --attention flash --format csv --context 512 --memory-limit 2GiB
status tidemark forecast --size 10B --device virtual:a100-40
# Here the reserved bytes exceed the card only in a later step.
status tidemark forecast --size xl --context 512 --batch 8 --device virtual:a100-80
status tidemark forecast --size small,medium
status tidemark forecast --device cpu
status tidemark forecast --precision bf16-true
# Times of a step, by what PyTorch launches, and where there are none.
status tidemark forecast --time --size small --context 512 --device virtual:h100-80
status tidemark forecast --time --size 2.7B --precision bf16-mixed --batch 1 --device virtual:h200 --format csv
status tidemark forecast --time --attention flash --device virtual:a100-80
status tidemark forecast --time --size xl --device virtual:a10
status tidemark forecast --time
