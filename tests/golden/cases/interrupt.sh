# A signal ends a run between two steps; its snapshot is whole, and what has not begun is left out.
began() { # PID: waits until the program is at its runs: it has worked for 0.2 s (20 ticks), or has a child that does.
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
# A study tells what it has, and what is missing; its runs go on here or in processes of their own.
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
# A lost connection is such a request, too; not under nohup.
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
