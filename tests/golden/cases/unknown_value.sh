# The message lists the valid values.
run() { tidemark profile "$@"; echo "exit $?" >&2; }
run --size smal
run --size 3B
run --mode training
run --precision bf16,fp8
run --attention flashy
run --device gpu
run --device virtual:h100
run --format xml
ls
