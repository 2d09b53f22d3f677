# What running programs hold. A program of the tests writes the logs; process ids and ages are left out.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
maker=$folder/tests/live/live_made_log
[ -x "$maker" ] || exit 77
export XDG_STATE_HOME=$PWD/state
top() {
    tidemark top "$@" 2>&1 | sed -E "s/(process|Process) [0-9]+/\1 PID/g; s/last [0-9.]+ s/last N s/; s#$PWD#HERE#g"
    echo "exit ${PIPESTATUS[0]}"
    echo
}
"$maker" ended.log 5
top ended.log --top 1
top ended.log --once --format csv --table modules | sed -E 's/^[0-9]+/PID/'
top
mkdir -p state/tidemark/run-1
mkfifo first second
for input in first second; do
    "$maker" state/tidemark/run-1/%p.log 5 2 wait <$input >$input.ready &
done
exec 7>first 8>second
until [ -s first.ready ] && [ -s second.ready ]; do sleep 0.05; done
top
top --pid $! | head -n 3
exec 7>&- 8>&-
wait
top --pid 1
top absent.log
top --interval 0
top --pid 1 ended.log
top --top 0
