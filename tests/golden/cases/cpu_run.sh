# Real steps on the host allocate the same bytes as the virtual device, and they have times.
tiny="--layers 2 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 2 --warmup 1"
tidemark profile $tiny --device cpu --overhead-pairs 2 -o cpu.json.gz |
    sed -E '/^  (forward|backward|optimizer|step) /s/ +[0-9.]+ ms +[0-9.]+ ms +([0-9]+)$/ MEAN STD \1/
        s/^  phase +mean +± sample std +samples$/  phase mean std samples/; s/^[0-9]+ tokens/N tokens/
        s/([0-9]\.[0-9]{2})[0-9]{4}\b/\1/g
        s/computed by (generic|AVX2|AVX-512) kernels, [0-9]+ threads?$/computed by KERNELS/
        s/^(recorder: )[0-9.]+ (% .*\(163 events of )[0-9]+( ns\); recording on and off: ).*( \(2 pairs of steps\))$/\1SHARE \2N\3SHARE\4/'
tidemark profile $tiny --device virtual -o virtual.json.gz >/dev/null
gunzip -c cpu.json.gz | jq -r '.run.host.computed_by' | grep -c 'kernels, [0-9]* thread'
gunzip -c virtual.json.gz | jq -c '.run.host.computed_by'
for device in cpu virtual; do
    gunzip -c $device.json.gz | jq -c '.summary[0].max, [.timing.phases[] | {name, n: (.host_ms | length)}]'
done
gunzip -c cpu.json.gz | jq -c '[.timing.recorder_pairs[] | length], ([.timing.recorder_pairs[][] > 0] | all)'
tidemark summary cpu.json.gz | grep -c '^recorder: '
# The capacity of the cpu device is the free host memory, and the report does not call it the device's size.
tidemark summary cpu.json.gz | sed -n '1s/.*, on cpu (.*, [0-9.]* [KMGT]iB/on cpu (NAME, N/p'
gunzip -c virtual.json.gz | jq -c '.timing.recorder_pairs'
