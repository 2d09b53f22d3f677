# Two ranks of one job are compared by the lines of the program, and neither is said to improve on the other. The ranks are made up.
tidemark profile --device virtual --layers 1 --warmup 0 --steps 2 -o run.json.gz >/dev/null
gzip -dc run.json.gz | jq -c '.rank = {rank: 0, world_size: 8}' >first.json
gzip -dc run.json.gz | jq -c '.rank = {rank: 3, world_size: 8}' >same.json
tidemark profile --device virtual --layers 2 --warmup 0 --steps 2 -o two.json.gz >/dev/null
gzip -dc two.json.gz | jq -c --arg command "$(gzip -dc run.json.gz | jq -r .run.command)" '.run.command = $command | .rank = {rank: 7, world_size: 8}' >last.json
tidemark compare first.json same.json last.json | head -n 1
tidemark compare last.json first.json | head -n 1
tidemark compare first.json last.json --format json | jq -c '.figures.run1_rank, .figures.run2_rank'
# Of another world, or the same rank twice: two runs as any others.
jq -c '.rank.world_size = 4' last.json >other.json
tidemark compare first.json other.json | head -n 1
tidemark compare first.json first.json | head -n 1
# The names of files tell ranks, too.
jq -c 'del(.rank)' first.json >rank0.json
jq -c 'del(.rank)' last.json >rank7.json
tidemark compare rank0.json rank7.json | head -n 1
