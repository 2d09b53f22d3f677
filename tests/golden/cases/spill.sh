# What a virtual card has no room for lies in the host's memory with --spill, and is marked.
status() { "$@" || echo "exit $?"; }
cards="--device virtual:rtx4060 --size large --context 128"
status tidemark profile $cards --mode forward-backward --warmup 1 --steps 2 --no-record 2>&1 | head -n 1
status tidemark profile $cards --mode forward-backward --warmup 1 --steps 2 --spill 16GiB -o run.json.gz | grep -v '^ \|^alive'
gunzip -c run.json.gz | jq -r '.actions as $a | .strings as $s | .events | [.action, .name] | transpose | map(select($a[.[0]] == "mark") | $s[.[1]]) | group_by(.) | map("\(length) x \(.[0])") | .[]'
status tidemark profile $cards --mode forward --warmup 0 --steps 1 --no-record --spill 1GiB
status tidemark profile $cards --warmup 0 --steps 2 --no-record --spill 16GiB --alloc-conf expandable_segments:True --format json | jq -c '[.figures | .spill_peak_bytes, .spilled_segments, .spill_step]'
status tidemark forecast $cards --spill 8GiB
status tidemark forecast $cards --spill 16GiB --format json | jq -c '[.figures | .fits, .usable_bytes, .spill_peak_bytes, .spilled_segments, .spill_step]'
status tidemark fit $cards --mode forward-backward --attention flash --spill 4GiB | grep -E 'lie in|usable of'
status tidemark sweep $cards --mode forward,train --warmup 0 --steps 2 --spill 16GiB --format json | jq -c '.tables.cells.rows[] | [.mode, .outcome, .spill_peak_bytes]'
# Nothing lies in the host where there is no card.
status tidemark profile --device cpu --spill 1GiB
status tidemark profile --device virtual --spill 1GiB
status tidemark study memory $cards --mode train --precision fp32 --spill 16GiB --format json | jq -r ".sentences.spill[]"
status tidemark study parameters --size small --spill 1GiB
