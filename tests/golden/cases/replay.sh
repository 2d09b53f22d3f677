# A replay under the recorded settings reproduces the recording. The case also replays other settings, limits and a grid,
# writes a replay to a file, and makes requests that make no sense.
snapshot=$golden/snapshots/version-1.json.gz
replay() { tidemark replay "$@" 2>&1 | sed "s|$golden|GOLDEN|"; }
tidemark profile --size small --device virtual --warmup 0 --steps 1 -o run.json.gz >/dev/null
replay run.json.gz
tidemark replay "$snapshot" --verify 2>&1 >/dev/null
echo "status $?"
replay "$snapshot" --alloc-conf expandable_segments:True --alloc-conf roundup_power2_divisions:4,max_split_size_mb:64
replay "$snapshot" --memory-limit 150MiB --over-time 3
replay "$snapshot" --grid --format csv | head -n 6
tidemark replay "$snapshot" --alloc-conf expandable_segments:True -o grown.json.gz >/dev/null
replay grown.json.gz | head -n 2
tidemark profile --size small --device virtual --warmup 0 --steps 1 --alloc-conf expandable_segments:True -o other.json.gz >/dev/null
tidemark replay run.json.gz --alloc-conf expandable_segments:True -o replayed.json.gz >/dev/null
rows() { zcat "$1" | jq -c '.events | del(.time_delta, .stack, .scope_delta, .address_delta)'; }
[ -n "$(rows other.json.gz)" ] && [ "$(rows other.json.gz)" = "$(rows replayed.json.gz)" ] && echo "the replay gives the rows that the run itself gives"
tidemark profile --size small --device virtual --memory-limit 1GiB --warmup 0 --steps 1 -o one.json.gz >/dev/null 2>&1
for limit in 1GiB 2GiB; do
    replay one.json.gz --memory-limit "$limit" | grep -o 'allocated.*fails* in all\|1 request.*immediately'
done
for options in "--verify --grid" "--verify --alloc-conf large_segment_size_mb:12" "--alloc-conf nonsense:1"  \
    "--grid -o x.json.gz" "--memory-limit 0" "--start somehow" "-o /nowhere/x.json.gz"; do
    # shellcheck disable=SC2086
    tidemark replay "$snapshot" $options >out 2>err
    status=$?
    tail -n 1 out
    sed "s|$golden|GOLDEN|; s/ (at character.*//" err
    echo "status $status"
done
