# When a crash ends a run (an abort in a library, for example), a snapshot of the events so far remains.
began() { # PID: waits until the program catches SIGABRT.
    local mask=0
    until (((16#$mask >> 5) & 1)); do
        kill -0 "$1" || exit 1
        mask=$(sed -n 's/^SigCgt:\t*//p' "/proc/$1/status")
    done
}
tidemark profile --device virtual --d-model 64 --layers 2 --heads 2 --warmup 0 --steps 1000000 -o run.json.gz >table 2>messages &
pid=$!
began "$pid"
kill -ABRT "$pid"
wait "$pid" 2>/dev/null
echo "status $?"
sed -E 's/[0-9]+ events/N events/; s/[0-9]+\.[0-9]+ ms/T ms/g' messages
ls -- *.gz
zcat run.abort-1.json.gz | jq -r .run.outcome
