# Names that come from files and programs may hold control characters, bidirectional ones and bytes that are no UTF-8.
# Messages and results print them escaped, also where stdout and stderr are no terminal.
clean() { # COMMAND...: prints what it prints, and complains about what a terminal would obey
    "$@" >out 2>&1
    # C0 but tab and line feed, DEL, C1 in UTF-8, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069
    if LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]' out; then
        echo "NOT ESCAPED: $1 $2"
    fi
    iconv -f UTF-8 -t UTF-8 out >/dev/null 2>&1 || echo "NO UTF-8: $1 $2"
    cut -c 1-150 out
}
evil=$'\e[31mX\a\xe2\x80\xae\xe2\x81\xa6\xc2\x9b\x7f'
broken=$'a\xff\xfeb'
printf '{"size":"\\u001b[31mX\\u202e\\u009b"}' >model.json
clean tidemark forecast --config model.json --device virtual:h100-80
printf '{"\\u001b[31mX\\u0007\\u2066":1}' >model.json
clean tidemark forecast --config model.json --device virtual:h100-80
printf '{"base":"h100-80","\\u001b]0;X\\u0007":1}' >card.json
clean tidemark run --device virtual:card.json true
tidemark profile --layers 1 --device virtual --steps 1 --warmup 0 -o run.json.gz >/dev/null
cp run.json.gz "$evil.json.gz"
cp run.json.gz "$broken.json.gz"
mkdir folder
echo "no snapshot" >"folder/$evil.json"
tidemark digest run.json.gz --rank 0 -o folder/0.digest.json.gz >/dev/null
clean tidemark ranks folder "folder/$evil.json"
clean tidemark digest "$evil.json.gz" --rank 0
clean tidemark digest "$broken.json.gz" --rank 0
clean tidemark view "$evil.json.gz" -o "$evil.html"
clean tidemark picture "$evil.json.gz" -o "$evil.svg"
clean tidemark summary "$evil.json"
clean tidemark summary "$broken.json"
clean tidemark recover "$evil.log"
clean tidemark run --device "virtual:$evil" true
clean tidemark "$evil"
clean tidemark summary "--$evil"
clean tidemark sweep --merge "$evil.jsonl"
clean tidemark dump "$evil.json"
clean tidemark view "$evil.json.gz" "$broken.json.gz" -o "$broken.html"
touch $'two\ntidemark: lines.json'
clean tidemark summary $'two\ntidemark: lines.json'
# A name that the program chose. Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
clean tidemark run --device virtual:h100-80 sh -c 'echo x >"$1"' - "new $evil" | grep -v 'no process'
clean tidemark run --device virtual:h100-80 --keep-writes kept sh -c 'echo x >"$1"' - "new $broken" | grep -v 'no process'
[ -e "kept/new $broken" ] || echo "it was not kept"
