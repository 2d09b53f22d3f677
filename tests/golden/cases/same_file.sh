# A command that reads files and writes one refuses an output that is one of its inputs, under any name, before it writes.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 --log run.log -o run.json.gz >/dev/null
tidemark export run.json.gz --to pytorch -o run.pickle
echo '{"size": "small", "n_layers": 1}' >config.json
tiny=(--device virtual --steps 1 --warmup 0)
tidemark sweep --size small --layers 1 "${tiny[@]}" -o rows.jsonl >/dev/null
mkdir folder
# refused INPUT COMMAND... OPTION: OPTION names the input itself, by another path, by a hard link and by a symbolic link.
refused() {
    local input=$1 before status name
    shift
    before=$(ls -A . folder; md5sum "$input")
    ln "$input" hard.link
    ln -s "folder/../$input" soft.link
    for name in "$input" "folder/../$input" hard.link soft.link; do
        "$@" "$name" >output 2>message && status=0 || status=$?
        { [ "$status" -eq 2 ] && grep -q 'is a file that this command reads' message; } ||
            echo "$* $name: status $status: $(cat message)"
    done
    rm hard.link soft.link output message
    [ "$(ls -A . folder; md5sum "$input")" = "$before" ] && echo "$*: refused" || echo "$*: $input is not as it was"
}
for input in run.json.gz run.pickle; do
    refused "$input" tidemark replay "$input" -o
    refused "$input" tidemark view run.json.gz "$input" --output
    for format in perfetto folded csv pytorch pytorch-json; do
        refused "$input" tidemark export "$input" --to "$format" -o
    done
done
refused run.log tidemark recover run.log -o
refused rows.jsonl tidemark sweep --merge rows.jsonl -o
for option in -o --log; do
    refused config.json tidemark profile --config config.json "${tiny[@]}" "$option"
done
for precision in fp32 fp32,bf16; do
    refused config.json tidemark sweep --config config.json --precision "$precision" "${tiny[@]}" --resume -o
done
# The rule also covers names that the program chooses itself.
cell=folder/custom-train-c128-b4-fp32.json.gz
ln config.json "$cell"
for command in "profile --precision fp32,bf16 -o" "sweep -o new.jsonl --snapshots"; do
    tidemark $command folder --config config.json "${tiny[@]}"
    echo "status $?"
done 2>&1
cmp config.json "$cell"
# A study writes into a new folder only.
tidemark study assignment -o folder 2>&1
echo "status $?"
# This list holds every option that names a file or folder. The checks above cover each one that writes in a command that
# also reads files.
for command in $(tidemark --help | sed -n '/^Programs/,/^Environment/s/^  \([a-z-]*\) .*/\1/p'); do
    tidemark "$command" --help |
        sed -nE "s/^  ((-[a-z], )?--?[a-z-]+ (FILE|OUT|REPORT|FOLDER|LOG)[A-Za-z.]*).*/$command \1/p"
done
ls
