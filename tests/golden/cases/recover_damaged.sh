run() { "$@"; echo "exit $?" >&2; }
# word FILE OFFSET: overwrites 8 bytes of the file at OFFSET with the bytes of its standard input.
word() { dd of="$1" bs=1 seek="$2" conv=notrunc 2>dd.txt; }
run tidemark profile --size small --layers 1 --device virtual --warmup 0 --steps 1 --log run.log -o run.json.gz >profile.txt
tidemark dump run.json.gz >whole.txt
for damage in 'refused 272' 'scopes 296' 'written 256' 'overwritten 264' 'journal 304'; do
    set -- $damage
    cp run.log "$1.log"
    printf '\000\000\000\000\000\000\000\200' | word "$1.log" "$2"
    echo "$1" >&2
    run tidemark recover "$1.log"
    tidemark summary "$1.json.gz" | grep -E "allocated at|^The peak|^By kind|^warning"
    tidemark dump "$1.json.gz" | head -n "$(wc -l <whole.txt)" | cmp - whole.txt && echo the same events
done
