# The command exports the formats of other tools: the case checks their first lines, their totals, compressed files and
# requests that match nothing.
snapshot=$golden/snapshots/version-1.json.gz
tidemark export "$snapshot" --to csv | head -n 3
tidemark export "$snapshot" --to folded | sort | head -n 2
tidemark export "$snapshot" --to folded | awk '{ sum += $NF } END { printf "%d bytes at the peak\n", sum }'
tidemark export "$snapshot" --to folded --at 10 | awk '{ sum += $NF } END { printf "%d bytes after event 10\n", sum }'
tidemark export "$snapshot" --to perfetto -o trace.json.gz
zcat trace.json.gz | jq -r '.traceEvents | group_by(.ph) | map("\(.[0].ph) \(length)") | .[]'
tidemark export "$snapshot" --to perfetto --strip-private | jq '.otherData.command'
for options in "" "--to nonsense" "--to csv --at 3" "--to folded --at 400" "--to folded --at first" "--to folded --device 1" \
    "--to csv -o /nowhere/x.csv"; do
    # shellcheck disable=SC2086
    tidemark export "$snapshot" $options
    echo "status $?"
done 2>&1 | sed "s|$golden|GOLDEN|"
