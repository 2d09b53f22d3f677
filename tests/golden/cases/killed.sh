# No signal, whenever it arrives, leaves a partial file beside the command's files.
tidemark profile --device virtual --size small --warmup 0 --steps 12 --log run.log -o run.json.gz >/dev/null
tidemark export run.json.gz --to pytorch -o run.pickle
mkdir out
signals=(INT TERM HUP QUIT PIPE)
n_ended=0
# end COMMAND...: ends the command six times, each time by another signal at a later moment, and looks for leftovers. A
# run that was over before its signal, because the machine was busier when the whole command was timed, is repeated with
# half of the time.
end() {
    local begin=$EPOCHREALTIME took_us wait_us i status
    "$@" >/dev/null 2>&1
    took_us=$((${EPOCHREALTIME/./} - ${begin/./}))
    rm -rf out/*
    for i in {1..6}; do
        wait_us=$((took_us * i / 7))
        status=0
        while [ $status -ne 124 ] && [ $wait_us -gt 0 ]; do
            timeout -s "${signals[i % 5]}" "$(printf '%d.%06d' $((wait_us / 1000000)) $((wait_us % 1000000)))" "$@" >/dev/null 2>&1
            status=$?
            wait_us=$((wait_us / 2))
            look_for_leftovers "$2"
        done
        n_ended=$((n_ended + (status == 124)))
    done
}
look_for_leftovers() {
    local left
    for _ in {1..600}; do # a sweep's subprocess ends shortly after its parent
        left=$(ls -A out | grep -vx -e 'run\.[a-z.]*' -e 'small-[a-z0-9-]*\.json\.gz' -e report.html)
        [ -n "$left" ] || break
        sleep 0.1
    done
    [ -z "$left" ] || echo "$1 left $left"
    rm -rf out/* out/.[!.]*
}
end tidemark export run.json.gz --to perfetto -o out/run.json
end tidemark export run.json.gz --to csv -o out/run.csv.gz
end tidemark view run.pickle run.json.gz -o out/run.html
end tidemark view run.json.gz --strip-private -o out/run.html
end tidemark recover run.log -o out/run.json.gz
end tidemark replay run.json.gz -o out/run.json.gz
end tidemark profile --device virtual --size small --context 64,128 --warmup 0 --steps 8 -o out
end tidemark profile --device virtual --size small --warmup 0 --steps 8 --log out/run.log -o out/run.json.gz
end tidemark sweep --size small --context 128,256 --device virtual --warmup 0 --steps 8 --snapshots out -o out/run.jsonl
# The test is only meaningful if enough of the commands were still running when the signal arrived.
[ "$n_ended" -gt 20 ] && echo "ended in their midst"
ls -A
