# The question of ./dev demo: a 2.7B model at context 2048 on an 80 GB card, in two precisions.
tidemark profile --size 2.7B --context 2048 --mode train --precision fp32,bf16-mixed --device virtual:h100-80 --warmup 0 \
    --steps 2 2>messages
echo "exit $?"
head -n 1 messages >&2
ls
