# The summary accounts for what the device's driver has given out, in whole MiB that add up. The rows are invented.
tidemark profile --device virtual --layers 1 --warmup 0 --steps 1 -o run.json.gz >/dev/null
gzip -dc run.json.gz | jq -c '.owners = {
    accounts: [{device: 0, total_bytes: 85899345920, used_at_start_bytes: 1048576, used_at_peak_bytes: 77678000000,
        used_at_end_bytes: 536870912, context_bytes: 537000000}],
    rows: [{name: "others", device: 0, peak_bytes: 43000000, end_bytes: 0, allocations: 9},
        {name: "PyTorch", device: 0, peak_bytes: 74662000000, end_bytes: -1, allocations: 1234},
        {name: "NCCL", device: 0, peak_bytes: 2422000000, end_bytes: 0, allocations: 3}]}' >made.json
tidemark summary made.json | grep '^in use on the device'
tidemark summary made.json | sed -n '/^Whose memory/,/^$/p'
tidemark summary made.json --format csv --table owners 2>/dev/null
tidemark summary made.json --format json | jq -c '.figures | with_entries(select(.key | test("driver|context")))'
tidemark export made.json --to tidemark -o again.json.gz >/dev/null
gzip -dc again.json.gz | jq -c '.owners.accounts'
# The owners claim more than is in use; the context is not known; nothing is known of the peak.
jq -c '.owners.accounts[0].used_at_peak_bytes = 77000000000' made.json >more.json
tidemark summary more.json | grep '^in use on the device\|^  unexplained'
jq -c 'del(.owners.accounts[0].context_bytes)' made.json >without.json
tidemark summary without.json | grep '^in use on the device'
jq -c 'del(.owners.accounts)' made.json >rows.json
tidemark summary rows.json | sed -n '/^in use on the device/p; /^Whose memory/,/^$/p'
