# Each signal writes one complete snapshot and overwrites none, and the run continues.
began() { # PID: waits until the program catches SIGUSR2.
    local mask=0
    until (((16#$mask >> 11) & 1)); do
        kill -0 "$1" || exit 1
        mask=$(sed -n 's/^SigCgt:\t*//p' "/proc/$1/status")
    done
}
: >run.usr2-2.json.gz
tidemark profile --device virtual --d-model 64 --layers 2 --heads 2 --warmup 0 --steps 1000000 \
    --snapshot-signal SIGUSR2 -o run.json.gz >table 2>messages &
pid=$!
began "$pid"
for n in 1 3; do
    kill -USR2 "$pid"
    until grep -q "run.usr2-$n.json.gz:" messages; do # the message appears once the file is complete
        kill -0 "$pid" || exit 1
    done
done
kill -TERM "$pid"
wait "$pid" 2>/dev/null
echo "status $?"
grep -v stopped messages | sed -E 's/[0-9]+ events/N events/; s/[0-9]+\.[0-9]+ ms/T ms/g'
ls -- *.gz
wc -c <run.usr2-2.json.gz
for n in 1 3; do
    zcat "run.usr2-$n.json.gz" | jq -r '.run.outcome, .timing.measured_steps'
done
tidemark compare run.json.gz run.usr2-1.json.gz | grep '^note.*went on'
