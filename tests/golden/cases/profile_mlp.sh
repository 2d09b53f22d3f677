# The program records an MLP like any run: the cpu and the virtual device give the same events, row for row.
export OMP_NUM_THREADS=1
options="--workload mlp --dim 16 --layers 3 --batch 8 --warmup 1 --steps 2 --overhead-pairs 0 --seed 3"
for device in cpu virtual; do
    tidemark profile $options --device $device -o $device.json.gz >/dev/null || echo "exit status $?"
    tidemark dump $device.json.gz | cut -f1,3- >$device.txt # every column except the time
done
cmp cpu.txt virtual.txt && [ "$(wc -l <cpu.txt)" -gt 90 ] && echo "the same events"
tidemark profile $options --device virtual -o run.json.gz --mode forward-backward | head -2
zcat run.json.gz | jq -c '.run | .model, [.attention, .recompute, .batch_size, .context_length]'
zcat run.json.gz | jq -c '.timing.flops'
tidemark summary run.json.gz | head -1
tidemark profile --workload mlp --device virtual --precision fp32,bf16-mixed --mode forward | sed -n '/^runs/,/^$/p'
tidemark profile --workload mlp --device virtual --size small
tidemark profile --workload mlp --device virtual --recompute block
tidemark profile --workload mlp --device virtual --batch 0
tidemark profile --workload mpl --device virtual
