# On a terminal, long work shows a progress line and erases it before it prints; in a pipe it shows none.
command -v script >/dev/null || {
    echo "no script (bsdutils): nothing here can be a terminal" >&2
    exit 77
}
shown() { # LABEL COMMAND...: the label stands on a line of its own, and the last such line is wiped
    local label=$1
    shift
    script -qec "$*" /dev/null </dev/null | tr '\r' '\n' >terminal
    echo "$2: $(grep -ac "^.\[K$label" terminal) or more, wiped: $(grep -a '^.\[K' terminal | tail -n 1 | grep -avc "$label")" |
        sed 's/ [1-9][0-9]* or/ 1 or/'
    "$@" 2>&1 >/dev/null | wc -c
}
shape="--d-model 64 --layers 2 --heads 2 --vocab 100 --context 16 --device cpu --warmup 0 --steps 1"
# shellcheck disable=SC2086
{
    shown "custom-train-c16-b4-fp32 (1 of 1): " tidemark profile $shape
    shown "memory: 0 of " tidemark study memory $shape --mode train --precision fp32
}
for name in matmul mlp mlp-scaling; do
    shown "$name .*, \(fp32\|bf16\)$" tidemark bench "$name" --device cpu --brief --rounds 1
done
