# A page embeds what the program read of a file, written anew. It contains no keys that the reader skipped and no damaged
# text.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o run.json.gz >/dev/null
gunzip -c run.json.gz | jq -c '. + {later: "what nobody here knows"} | .run.later = 1' >later.json
tidemark view later.json -o report.html
tr -d '\n' <report.html | grep -o 'tidemark-snapshot[^>]*>[A-Za-z0-9+/=]*' | sed 's/.*>//' | base64 -d | gunzip -c >embedded.json
jq -c '[has("later"), (.run | has("later")), .format, (.events.action | length > 0)]' embedded.json
cmp <(tidemark summary embedded.json | tail -n +2) <(tidemark summary run.json.gz | tail -n +2) && echo 'the same run'
# The reader also checks the text that it skips.
LC_ALL=C sed 's/what nobody/what \xff nobody/' later.json >damaged.json
tidemark view damaged.json -o damaged.html 2>&1 | sed 's/byte [0-9]*/byte N/'
ls
