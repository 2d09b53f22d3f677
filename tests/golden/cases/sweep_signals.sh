# A crash is a row that names the signal; what ends the sweep ends its cell, and --resume goes on.
set -- --device virtual --d-model 64 --layers 48 --heads 2 --warmup 0 --steps 1000000 --context 16,32
child_of() { # PID: its child, once that one is the cell
    local child=
    until [ -n "$child" ] && grep -q run-config "/proc/$child/cmdline" 2>/dev/null; do
        kill -0 "$1" || exit 1
        read -r child 2>/dev/null <"/proc/$1/task/$1/children" || true
    done
    echo "$child"
}
tidemark sweep "$@" >table 2>messages &
pid=$!
first=$(child_of "$pid")
kill -SEGV "$first"
second=$first
while [ "$second" = "$first" ]; do second=$(child_of "$pid"); done
kill -TERM "$pid"
wait "$pid" 2>/dev/null
echo "status $?"
[ -d "/proc/$second" ] || echo "the cell has ended"
cat messages
jq -r 'select(.name) | .name, .result.signal' sweep.jsonl
# Ended in its first cell it keeps nothing, and does not say so.
tidemark sweep "$@" -o none.jsonl >table 2>messages &
pid=$!
child_of "$pid" >/dev/null
kill -TERM "$pid"
wait "$pid" 2>/dev/null
grep resume messages
# A quick grid, one of whose cells is said to have crashed: --retry alone runs that one again.
set -- "${@/1000000/1}"
tidemark sweep "$@" -o quick.jsonl >table
jq -c 'if .cell == 0 then .result.outcome = "crashed" else . end' quick.jsonl >again.jsonl
tidemark sweep "$@" -o again.jsonl --resume | head -n 1
tidemark sweep "$@" -o again.jsonl --resume --retry | head -n 1
jq -r 'select(.name) | .name, .result.outcome' again.jsonl
