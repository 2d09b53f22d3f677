# Text from a file cannot control the terminal: the program escapes control and bidirectional characters on a terminal
# and keeps them unchanged in files and pipes.
command -v script >/dev/null || {
    echo "no script (bsdutils): nothing here can be a terminal" >&2
    exit 77
}
tidemark profile --d-model 32 --layers 1 --heads 2 --d-ff 32 --vocab 50 --context 16 --device virtual --warmup 0 --steps 1 -o plain.json.gz >/dev/null
# ESC ] 0 ; ... BEL sets the window title. U+202E reverses the text that follows, and U+2067, U+200F and U+061C change its
# direction too. U+009B is ESC [ in a single character.
gunzip -c plain.json.gz | jq -c '(.strings[] | select(. == "logits" or . == "lm_head" or . == "tide_transformer_setup")) = "a\u001b]0;x\u0007b\u202ec\u2067d\u200fe\u061cf\u009bg\u007fh" | .allocator["x\u001b[2Jy"] = 1' | gzip >hostile.json.gz
on_terminal() { script -qec "$*" /dev/null </dev/null | tr -d '\r'; }
count() { LC_ALL=C grep -cP '\x1b|\x07|\x7f|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c|\xc2[\x80-\x9f]'; }
for command in "export --to csv" "export --to folded" "export --to perfetto" dump "summary --tree name" "summary --tree name --format csv" "summary --tree name --format json" \
    "summary --tree name --format markdown" "compare --format csv plain.json.gz"; do
    echo "$command: lines with orders on a terminal: $(on_terminal tidemark $command hostile.json.gz | count), in a pipe: $(tidemark $command hostile.json.gz | count)"
done
on_terminal tidemark export --to csv hostile.json.gz | grep -m 1 -o 'a[^,]*h,'
on_terminal tidemark dump hostile.json.gz | grep -m 1 -o 'a?[^ 	]*'
on_terminal tidemark summary --tree name --format json hostile.json.gz | sed -n '/a\\u001b/{p;q}' | grep -o 'a\\u001b[^"]*'
tidemark summary --tree name --format json hostile.json.gz >exact.json
jq -r '.tables[].rows[] | .. | strings | select(startswith("a\u001b"))' exact.json | head -n 1 | head -c 31 | od -An -c
# The program escapes its messages, too.
printf 'x\033[2J\xe2\x80\xae' >$'\033]0;title\007.json.gz'
on_terminal "tidemark summary \$'\\033]0;title\\007.json.gz'" | count || true
printf '{"segments":[],"device_traces":[[]],"allocator_settings":{"a\\u001b]0;x\\u0007b":[1]}}' >odd.json
on_terminal tidemark summary odd.json | sed -n 1p
