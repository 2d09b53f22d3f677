# A crash becomes a row that names the signal. A signal to the sweep also ends its cell, and --resume continues.
set -- --device virtual --d-model 64 --layers 48 --heads 2 --warmup 0 --steps 1000000 --context 16,32
child_of() { # PID: waits until a child of PID runs a cell, and prints the ID of that child
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
kill -ABRT "$first" # sanitizers handle most other signals themselves
second=$first
while [ "$second" = "$first" ]; do second=$(child_of "$pid"); done
kill -TERM "$pid"
wait "$pid" 2>/dev/null
echo "status $?"
[ -d "/proc/$second" ] || echo "the cell has ended"
cat messages
jq -r 'select(.name) | .name, .result.signal' sweep.jsonl
# A sweep that ends in its first cell keeps no row and does not claim that it did.
tidemark sweep "$@" -o none.jsonl >table 2>messages &
pid=$!
child_of "$pid" >/dev/null
kill -TERM "$pid"
wait "$pid" 2>/dev/null
grep resume messages
# The case marks one cell of a quick grid as crashed. Only --retry runs that cell again.
set -- "${@/1000000/1}"
tidemark sweep "$@" -o quick.jsonl >table
jq -c 'if .cell == 0 then .result.outcome = "crashed" else . end' quick.jsonl >again.jsonl
tidemark sweep "$@" -o again.jsonl --resume | head -n 1
tidemark sweep "$@" -o again.jsonl --resume --retry | head -n 1
jq -r 'select(.name) | .name, .result.outcome' again.jsonl
