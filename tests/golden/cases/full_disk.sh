# What a full disk leaves: the message, the old file, and nothing half-written.
tidemark profile --device virtual --size small --steps 1 --warmup 0 -o run.json.gz >/dev/null
before=$(md5sum <run.json.gz)
(
    trap '' XFSZ
    ulimit -f 4 # blocks of 1 KiB or of 512 bytes: less than the snapshot either way
    tidemark profile --device virtual --size small --steps 3 --warmup 0 -o run.json.gz >/dev/null
    echo "exit $?" >&2
)
[ "$(md5sum <run.json.gz)" = "$before" ] && echo "the old file is as it was"
# A sweep that cannot begin leaves no file, and one on a file of somebody else's leaves that as it is.
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
