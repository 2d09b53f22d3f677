# The measured steps as replays of a captured one, on virtual and on cpu, beside the same run without a graph.
tiny="--layers 2 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 3 --warmup 1"
for device in virtual cpu; do
    tidemark profile $tiny --device $device --overhead-pairs 0 -o plain-$device.json.gz | sed -n 1,2p
    tidemark profile $tiny --device $device --cuda-graph -o graph-$device.json.gz | sed -n 1,2p
    # The peaks are equal, but the private pool takes more from the device. Tensors of the captured step are paired with those of the other.
    tidemark compare plain-$device.json.gz graph-$device.json.gz | sed -n '/^Runs/,/^$/p; /^What differs/,/^$/p; /^Highest bytes/,/^$/p; /^the losses/p'
    gunzip -c plain-$device.json.gz | jq -c '.run.cuda_graph'
    # Only whole steps are timed, and replays record no events.
    gunzip -c graph-$device.json.gz | jq -c '.run.cuda_graph, [.timing.phases[] | {name, n: (.host_ms | length)}]'
done
tidemark summary graph-virtual.json.gz | sed -n '/^Reserved at the peak, by pool/,/^$/p'
refuse() { tidemark profile $tiny --cuda-graph "$@"; echo "exit $?" >&2; }
refuse --device cpu --precision fp16-mixed
tidemark profile --device cpu --workload mlp --warmup 0 --cuda-graph; echo "exit $?" >&2
refuse --device virtual --emulate pytorch
refuse --device cpu --overhead-pairs 2
ls
