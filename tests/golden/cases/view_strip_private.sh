# A report for others: no command line, host name or folder in what it embeds, and nothing left beside it.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o run.json.gz >/dev/null
# Nothing that was beside it is touched.
echo precious >report.html.0.json.gz
tidemark view "$PWD/run.json.gz" --strip-private -o report.html
# The snapshot stands in the page in base64.
tr -d '\n' <report.html | grep -o 'tidemark-snapshot[^>]*>[A-Za-z0-9+/=]*' | sed 's/.*>//' | base64 -d | gunzip -c |
    jq -c '[.run.command, .run.host.name, ([.strings[] | select(startswith("/"))] | length)]'
grep -c "$PWD" report.html
gunzip -c run.json.gz | jq -r .run.command
cat report.html.0.json.gz
# A snapshot is never overwritten by its own report.
tidemark view run.json.gz -o run.json.gz
echo "exit $?"
ls
