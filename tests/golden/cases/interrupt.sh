# A signal ends a run between two steps. Its snapshot is complete and omits the runs that had not begun.
began() { # PID: waits until the program has begun its runs: it, or a child of it, has used 0.2 s of CPU time (20 ticks).
    local stat child=
    until [ -n "$child" ] || { stat=($(sed 's/.*) //' "/proc/$1/stat")) && ((stat[11] + stat[12] >= 20)); }; do
        kill -0 "$1" || exit 1
        read -r child 2>/dev/null <"/proc/$1/task/$1/children" || true
    done
}
tidemark profile --device virtual --d-model 64 --layers 2 --heads 2 --warmup 0 --steps 1000000 \
    --context 16,32 -o . >table 2>messages &
pid=$!
began "$pid"
kill -TERM "$pid"
wait "$pid" 2>/dev/null
echo "status $?"
sed -E 's/after [0-9]+ of/after N of/' messages
head -n 1 table
grep -o 'custom.*stopped' table
ls ./*.gz
zcat ./*.gz | jq -r '.run.outcome, .timing.measured_steps == ([.scopes.kind[] | select(. == 0)] | length)'
tidemark summary ./*.gz | grep -e '^./custom' -e '^note'
tidemark compare ./*.gz ./*.gz | grep -c '^note: .* was stopped before its end'
# An interrupted study reports the finished runs and names the missing ones, in the same process and in subprocesses.
for name in memory end-to-end; do
    tidemark study "$name" --device virtual --d-model 64 --layers 2 --heads 2 --mode train --precision fp32 --warmup 0 \
        --steps 1000000 --context 16,32 >table 2>messages &
    pid=$!
    began "$pid"
    kill -TERM "$pid"
    wait "$pid" 2>/dev/null
    echo "study $name: status $?"
    cat messages
    grep interrupted table
done
# A lost connection (SIGHUP) also interrupts, except under nohup.
rm ./*.gz
for trap in - ''; do
    (
        trap "$trap" HUP
        exec tidemark profile --device virtual --d-model 64 --layers 2 --heads 2 --warmup 0 --steps 1000000 --context 16 \
            -o lost.json.gz >table 2>messages
    ) &
    pid=$!
    began "$pid"
    kill -HUP "$pid"
    [ -n "$trap" ] || kill -TERM "$pid"
    wait "$pid" 2>/dev/null
    echo "status $?"
    zcat lost.json.gz | jq -r .run.outcome
done
