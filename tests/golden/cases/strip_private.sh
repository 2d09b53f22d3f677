# Nothing that names the host, the command line or a folder of absolute paths.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 --strip-private -o run.json.gz >/dev/null
gunzip -c run.json.gz | jq -c '[.run.command, .run.host.name, ([.strings[] | select(startswith("/"))] | length)]'
