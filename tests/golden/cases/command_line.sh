# The snapshot stores the command line quoted, so that a shell accepts it again.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o "it's a run.json.gz" >/dev/null
gunzip -c "it's a run.json.gz" | jq -r .run.command
