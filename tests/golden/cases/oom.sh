# Running out of memory on any device gives exit status 3, a message and a snapshot with an oom row.
tidemark profile --device virtual --memory-limit 1GiB --steps 1 --warmup 0 -o oom.json.gz 2>messages
echo "exit $?"
sed -E 's/:[0-9]+\)/:LINE)/g' messages >&2
gunzip -c oom.json.gz | jq -c '[.run.outcome, .run.memory_limit_bytes, .oom[0].requested_bytes, .oom[0].free_bytes]'
