run() { "$@"; echo "exit $?" >&2; }
profile() { tidemark profile --size small --layers 1 --device virtual --warmup 0 --steps 1 "$@"; }
run profile --log run.log -o run.json.gz >profile.txt
run tidemark recover run.log -o recovered.json.gz
tidemark dump run.json.gz >whole.txt
tidemark dump recovered.json.gz | head -n "$(wc -l <whole.txt)" | cmp - whole.txt && echo the same events
# When the recorded program no longer exists, frames show offsets instead of functions.
cp "$(command -v tidemark)" gone
./gone profile --size small --layers 1 --device virtual --warmup 0 --steps 1 --log gone.log -o x.json.gz >profile.txt
rm gone
run tidemark recover gone.log
tidemark dump gone.json.gz | grep -q '0x[0-9a-f]* in gone' && echo offsets
# The command recovers events from a truncated log, but not from a log without a complete header.
head -c $(($(wc -c <run.log) - 4801)) run.log >cut.log
run tidemark recover cut.log
tidemark summary cut.json.gz | grep -E "allocated at|^The peak|^By kind|^warning"
tidemark compare run.json.gz cut.json.gz | grep lost,
tidemark replay cut.json.gz | grep lost
head -c 100 run.log >header.log
run tidemark recover header.log
run tidemark recover run.json.gz
run tidemark recover absent.log
run tidemark recover run.log -o run.log
# These logs come from a small ring and from a disk that is smaller than the log.
run profile --log-bytes 4800 -o ring.json.gz | grep warning
tidemark summary ring.json.gz | grep -E "allocated at|^The peak|^By kind|^warning"
run profile --log-bytes 4800 --log-full stop -o stop.json.gz >stop.txt
tidemark summary stop.json.gz | grep -E "allocated at|^The peak|^By kind|^warning"
run profile --log small.log --log-bytes 64KiB -o x.json.gz
(ulimit -f 1024 && run profile --log large.log -o x.json.gz)
ls
