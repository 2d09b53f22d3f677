# The summary adds the tree, fragmentation, steps and leaks on request. The case leaves out call stacks, because they hold
# line numbers.
tidemark profile --device virtual --layers 1 --d-model 256 --heads 4 --d-ff 512 --vocab 2000 --context 256 --batch 4 --steps 3 \
    --warmup 1 -o run.json.gz >/dev/null
tidemark summary run.json.gz --tree category,phase,name --top 2 | sed -n '/^Alive.*>/,$p'
tidemark summary run.json.gz --tree name --top 1 --format csv --table tree
tidemark summary run.json.gz --tree phase,name --top 1 --format markdown | sed -n '/phase > name/,$p'
tidemark summary run.json.gz --fragmentation --at 'step[1] > optimizer' --top 2 --format json |
    jq -c '.sentences.fragmentation[]'
tidemark summary run.json.gz --fragmentation --at 'step[1] > optimizer' --top 2 --format json |
    jq -c '.tables[] | select(.title | startswith("Cached")) | .title, (.rows[] | del(.stack))'
tidemark summary run.json.gz --steps --leaks --top 3 | sed -n '/^steady/,$p'
# For a device that was full, the report shows the bytes that its driver counts. Under a limit of our own, the free
# bytes are unknown.
tidemark profile --size 10B --batch 4 --context 512 --device virtual:h100-80 --warmup 0 --steps 1 -o full.json.gz >/dev/null 2>&1
tidemark summary full.json.gz --at oom | sed -n '/^  reserved.*sum/,/^$/p'
tidemark summary full.json.gz --leaks | tail -n 1
# The cpu device has no driver that counts memory.
gunzip -c full.json.gz | jq -c '.devices[0].kind = "cpu"' | gzip >cpu.json.gz
tidemark summary cpu.json.gz --at oom | sed -n '/^  reserved.*sum/,/^$/p'
tidemark profile --size small --device virtual --memory-limit 2GiB --warmup 0 --steps 1 -o limited.json.gz >/dev/null 2>&1
tidemark summary limited.json.gz --at oom | sed -n '/^  reserved.*sum/,/^$/p'
tidemark summary run.json.gz --tree name,name
tidemark summary run.json.gz --tree colour
