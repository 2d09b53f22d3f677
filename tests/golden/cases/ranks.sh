# One report of the ranks of a job. The ranks are made up of one recording.
tidemark profile --device virtual --layers 1 --warmup 1 --steps 2 -o run.json.gz >/dev/null
tidemark digest run.json.gz --rank 0 -o base.digest.json.gz >/dev/null
python3 "$golden/../ranks/make_digests.py" base.digest.json.gz job 64
tidemark ranks job
# The order of the files counts for nothing.
tidemark ranks job --format json >straight.json
ls job/* | sort -R --random-source=run.json.gz >shuffled.txt
tidemark ranks @shuffled.txt --format json | cmp - straight.json && echo same
# A few ranks of a job; digests and snapshots mixed; another grouping.
cp run.json.gz rank-40.json.gz
tidemark ranks job/rank0.* job/rank63.* rank-40.json.gz --group-by none --format csv 2>said.txt
cat said.txt
tidemark ranks job --group-by tp --table groups
# Conditions.
tidemark ranks job --table groups --format csv --fail-if 'spread > 5%' >/dev/null 2>said.txt
echo "$?" && tail -n 1 said.txt
tidemark ranks job --table groups --fail-if 'spread>500%' --fail-if 'headroom<5%' --fail-if 'growth>4MiB' >/dev/null && echo passes
tidemark ranks rank-40.json.gz --fail-if 'headroom<2GiB' >/dev/null || echo "$?"
# Growth is that of `tidemark explain`; a digest of an older tidemark had a rule of its own, and has none now.
tidemark ranks job --table groups --fail-if 'growth>2MiB' >/dev/null
echo "$?"
gzip -dc job/rank1.digest.json.gz | jq -c '.devices[0] |= (del(.explained) | .growth = {bytes_per_step: 3145728, since_step: 0, line: "keep (train.py:12)"})' >older.digest.json
tidemark ranks older.digest.json job/rank0.* --fail-if 'growth>0' | sed -n '3,4p'
echo "${PIPESTATUS[0]}"
# All sentences, for programs.
tidemark ranks job --format json | jq -c '.tables.explained.rows[] | [.ranks, .count, .fullest, .key]'
# A stage for each sentence: the report has the most frequent ones, and counts the others.
mkdir many
for rank in 0 1 2 3 4 5 6 7 8 9; do
    gzip -dc job/rank$rank.digest.json.gz | jq -c --arg name "f$rank" '.devices[0].explained.causes = [{cause: "logits", bytes: 1, text: "It is \($name)."}]' >many/$rank.digest.json
done
tidemark ranks many | grep -E '^(rank|[0-9]+ more)'
tidemark ranks job --fail-if 'spread 5%'
tidemark ranks job --fail-if 'peaks>5'
# A rank that ran out of memory; by the clocks of their hosts.
for rank in 3 5; do
    gzip -dc job/rank$rank.digest.json.gz | jq -c ".devices[0].oom = {event: 7, time_ns: ${rank}000000000, requested_bytes: 1048576, free_bytes: 0,
        line: \"model.py:$rank (f)\"} | .devices[0].timeline.begin_unix_us = 1700000000000000 - ${rank}500000" >out$rank.digest.json
done
tidemark ranks out*.digest.json job/rank0.digest.json.gz | head -n 2
# What it asked for may be unknown.
jq -c 'del(.devices[0].oom.requested_bytes)' out3.digest.json >unknown.digest.json
tidemark ranks unknown.digest.json | sed -n 2p
# The range of a peak: the ends that were run. Nobody knows of the others; without any there are no columns.
for rank in 0 2; do
    high=$((rank == 0 ? 450000000 : -1))
    gzip -dc job/rank$rank.digest.json.gz | jq -c ".devices[0] |= (.low_bytes = .max.allocated_bytes | .high_bytes = $high | .reserved_low_bytes = .max.reserved_bytes
        | .reserved_high_bytes = $high)" >range$rank.digest.json
done
tidemark ranks range*.digest.json job/rank3.* --format csv 2>said.txt
grep range said.txt
# Pinned memory of the host is no second card; another card is.
for kind in pinned cuda; do
    gzip -dc job/rank0.digest.json.gz | jq -c ".devices += [.devices[0] | .index = 1 | .kind = \"$kind\"]" >$kind.digest.json
    tidemark ranks $kind.digest.json --format json | jq -c '.sentences.devices'
done
# What cannot be.
tidemark ranks job/rank0.digest.json.gz job/rank0.digest.json.gz
tidemark ranks job --group-by expert
gzip -dc base.digest.json.gz | sed 's/"rows":\[/"rows":[7,/' >bad.digest.json
tidemark ranks bad.digest.json 2>&1 | sed 's/byte [0-9]*/byte N/' >&2
mkdir empty && tidemark ranks empty
# The page has every digest, in the order of the ranks.
tidemark ranks @shuffled.txt --html page.html --table groups >/dev/null && ls -s page.html | wc -l
tidemark ranks job --html straight.html >/dev/null && cmp page.html straight.html && echo same page
tidemark ranks job --html page.json
# How processes ended, where a black box saw it; a good end is none.
cat >end.py <<'PYTHON'
import gzip, json, sys
path, node, ended, at = sys.argv[1:]
with gzip.open(path) as file:
    digest = json.load(file)
digest["source"].update(ended=ended, ended_unix_us=int(at))
digest["rank"]["node"] = node
with gzip.open(path, "wt") as file:
    json.dump(digest, file)
PYTHON
ended() { tidemark ranks "$@" | grep -E ' ended| failed' || echo 'no end is known'; }
three="job/rank3.digest.json.gz job/rank5.digest.json.gz job/rank9.digest.json.gz"
ended $three
python3 end.py job/rank9.digest.json.gz a "status 0" 3 && ended job/rank9.digest.json.gz
python3 end.py job/rank9.digest.json.gz a SIGTERM 9 && ended job/rank9.digest.json.gz
ended $three
python3 end.py job/rank3.digest.json.gz a "status 1" 5 && ended $three
python3 end.py job/rank5.digest.json.gz b SIGSEGV 4 && ended $three
# A good end before a failure is no failure.
python3 end.py job/rank3.digest.json.gz a "status 0" 3 && python3 end.py job/rank5.digest.json.gz a "status 0" 4 && ended $three
