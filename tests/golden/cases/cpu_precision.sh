# The cpu device computes fp32; said before the first run of the list.
run() { tidemark profile --device cpu --layers 1 --steps 1 --warmup 0 "$@"; echo "exit $?" >&2; }
run --precision fp32,bf16
run --precision tf32
run --precision bf16-true
ls
