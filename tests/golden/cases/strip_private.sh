# The stripped file does not contain the host name, the command line or absolute folder names.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 --strip-private -o run.json.gz >/dev/null
gunzip -c run.json.gz | jq -c '[.run.command, .run.host.name, ([.strings[] | select(startswith("/"))] | length)]'
