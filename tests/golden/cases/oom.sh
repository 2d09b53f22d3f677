# Out of memory on any device: exit status 3, the message, and the snapshot with its oom row.
tidemark profile --device virtual --memory-limit 1GiB --steps 1 --warmup 0 -o oom.json.gz 2>messages
echo "exit $?"
sed -E 's/:[0-9]+\)/:LINE)/g' messages >&2
gunzip -c oom.json.gz | jq -c '[.run.outcome, .run.memory_limit_bytes, .oom[0].requested_bytes, .oom[0].free_bytes]'
