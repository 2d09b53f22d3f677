# The cpu device computes every precision except tf32, which the command refuses before the first run of a list.
run() {
    tidemark profile --device cpu --d-model 16 --layers 1 --heads 2 --d-ff 32 --vocab 64 --batch 2 --context 8 \
        --warmup 0 --steps 2 "$@"
    echo "exit $?" >&2
}
run --precision fp32,tf32
run --precision fp32,bf16,bf16-true,half >/dev/null
for file in *.gz; do
    gunzip -c "$file" | jq -c '[.run.precision, .summary[0].peak.requested_bytes]'
done
