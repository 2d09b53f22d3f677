# A report to share embeds no command line, host name or folder, and the command leaves no other file.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o run.json.gz >/dev/null
# The command does not touch other files in the folder.
echo precious >report.html.0.json.gz
tidemark view "$PWD/run.json.gz" --strip-private -o report.html
# The page embeds the snapshot in base64.
tr -d '\n' <report.html | grep -o 'tidemark-snapshot[^>]*>[A-Za-z0-9+/=]*' | sed 's/.*>//' | base64 -d | gunzip -c |
    jq -c '[.run.command, .run.host.name, ([.strings[] | select(startswith("/"))] | length)]'
grep -c "$PWD" report.html
gunzip -c run.json.gz | jq -r .run.command
cat report.html.0.json.gz
# A report never overwrites its own snapshot.
tidemark view run.json.gz -o run.json.gz
echo "exit $?"
ls
