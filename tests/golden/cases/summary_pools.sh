# summary lists what is reserved by pool and stream if there is a private pool, and says nothing of pools otherwise.
tidemark profile --size small --d-model 64 --layers 1 --heads 1 --d-ff 128 --vocab 50 --context 8 --batch 1 --device virtual --steps 1 --warmup 0 -o a.json.gz >/dev/null
gzip -dc a.json.gz | jq -c '.pools = [[3, 0], [0, 1]] | .events.pool = [.events.action[] | 1] | .events.pool[0] = 2' >pools.json
tidemark summary pools.json --table pools
tidemark summary a.json.gz --table pools; echo "exit $?"
