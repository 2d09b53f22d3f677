# A full disk gives a message, keeps the old file and leaves no partial file.
tidemark profile --device virtual --size small --steps 1 --warmup 0 -o run.json.gz >/dev/null
before=$(md5sum <run.json.gz)
(
    trap '' XFSZ
    ulimit -f 4 # a block has 1 KiB or 512 bytes, and the snapshot is larger either way
    tidemark profile --device virtual --size small --steps 3 --warmup 0 -o run.json.gz >/dev/null
    echo "exit $?" >&2
)
[ "$(md5sum <run.json.gz)" = "$before" ] && echo "the old file is as it was"
# A sweep that cannot begin leaves no file, and it does not change an existing file that no sweep wrote.
set -- --device virtual --size small --layers 1 --context 16,32 --warmup 0 --steps 1
(
    trap '' XFSZ
    ulimit -f 0
    tidemark sweep "$@" -o rows.jsonl
    echo "exit $?"
) 2>&1 | cat
ls
printf 'what nobody may lose' >notes.txt
tidemark sweep "$@" --resume -o notes.txt
echo "exit $?" >&2
cat notes.txt
echo
