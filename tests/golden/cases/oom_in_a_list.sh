# A run that does not fit becomes a row, and the other runs continue.
tidemark profile --device virtual --memory-limit 1GiB --precision fp32,bf16-true --steps 1 --warmup 0 2>messages
echo "exit $?"
head -n 1 messages >&2
ls
