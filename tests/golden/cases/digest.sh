# A digest has the figures of the summary, tells how the rank became known, and is the same each time.
tidemark profile --device virtual --layers 1 --warmup 1 --steps 2 -o rank7.json.gz >/dev/null
tidemark digest rank7.json.gz
tidemark digest rank7.json.gz --rank 3 -o asked.digest.json.gz
tidemark digest rank7.json.gz -o again.digest.json.gz >/dev/null
cmp rank7.digest.json.gz again.digest.json.gz && echo same
gzip -dc rank7.digest.json.gz | jq -c '.rank.rank, .rank.from, .source.file, .devices[0].max, (.devices[0].explained | [.version, .failure, .growth, .causes])'
gzip -dc rank7.digest.json.gz | jq -c '.devices[0] | .peak.allocated_bytes == ([.rows[].bytes] | add) + .rest.bytes'
gzip -dc rank7.digest.json.gz | jq -c '.devices[0].steps[] | [.index, .name, .allocated_peak_bytes, .end_bytes]'
tidemark summary rank7.json.gz --format json | jq -c '.figures | [.requested_peak_bytes, .allocated_peak_bytes, .reserved_peak_bytes]'
# What it explains is what `tidemark explain` prints.
tidemark explain rank7.json.gz --format json | jq -c '[.sentences | (.oom, .cause, .filled, .kinds) // empty | if type == "array" then .[] else . end]' >explain.json
gzip -dc rank7.digest.json.gz | jq -c '[.devices[0].explained.sentences[].text]' | cmp - explain.json && echo same sentences
# The key of the recording comes before the name of the file.
gzip -dc rank7.json.gz | jq -c '.rank = {rank: 5, world_size: 1024, groups: [{name: "tp", size: 8, position: 5}]}' >rank9.json
tidemark digest rank9.json --strip-private
gzip -dc rank9.digest.json.gz | jq -c '.rank, .source.command, .host.name'
mv rank9.json plain.json && jq -c 'del(.rank)' plain.json >none.json
tidemark digest none.json
# What cannot be.
tidemark digest none.json plain.json --rank 1
tidemark digest rank7.json.gz -o rank7.html
tidemark digest rank7.digest.json.gz
# A log has the digest of the snapshot that is recovered from it, also a full one and one that is cut.
mkdir log snapshot
for options in '--steps 2' '--steps 300 --log-bytes 1MiB'; do
    tidemark profile --device virtual --layers 1 --warmup 1 --log run.log $options -o x.json.gz >/dev/null 2>&1
    head -c $(($(wc -c <run.log) - 4801)) run.log >log/cut.log
    cp run.log log/rank2.log
    for name in rank2 cut; do
        tidemark digest log/$name.log
        tidemark recover log/$name.log -o snapshot/$name.json.gz >/dev/null 2>&1
        tidemark digest snapshot/$name.json.gz >/dev/null
        for kind in log snapshot; do
            gzip -dc $kind/$name.digest.json.gz | jq -c 'del(.source.file)' >$kind.json
        done
        cmp log.json snapshot.json && jq -c '[.devices[0] | .counts.events > 100, .counts.dropped > 0, (.steps | length)]' log.json
    done
done
head -c 100 run.log >header.log
tidemark digest header.log
