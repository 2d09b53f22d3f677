# explain, summary, digest, ranks and compare name the same lines, bytes, growth and failure of every recording.
cp "$golden"/snapshots/*.json.gz "$golden"/snapshots/*.pickle .
for words in "" leak "leak python" oom "oom fragmented" "bare leak"; do
    python3 "$golden/snapshots/make_training.py" $words >"training-${words// /-}.pickle"
done
for words in "" grows; do
    python3 "$golden/snapshots/make_fragmented.py" $words >"fragmented-$words.pickle"
done
tidemark profile --device virtual --layers 1 --warmup 0 --steps 2 -o own.json.gz >/dev/null
python3 -B "$golden/../ranks/one_engine.py" training-.pickle $(ls *.pickle *.json.gz)
