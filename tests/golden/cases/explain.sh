# The verdict of made training runs of PyTorch: healthy, with a leak, out of memory, in pieces, and without a history.
make() { python3 "$golden/snapshots/make_training.py" "$@" >training.pickle; }
explain() { echo "== $*"; make "$@"; tidemark explain training.pickle 2>progress; echo "exit $?"; }
explain
explain leak
explain leak python
explain leak annotated
explain oom
explain oom fragmented
explain bare leak
# A history whose oldest events are gone has no peak.
cut() {
    python3 -c 'import pickle, sys
s = pickle.load(open("training.pickle", "rb"))
s["device_traces"] = [t[-int(sys.argv[1]):] for t in s["device_traces"]]
pickle.dump(s, open("cut.pickle", "wb"))' "$1"
}
make leak
cut 1
tidemark explain cut.pickle
cut 60
tidemark explain cut.pickle 2>/dev/null
tidemark summary cut.pickle --format json | jq -c '.figures | {allocated_bytes, allocated_peak_bytes, reserved_peak_bytes, dropped_events}'
tidemark summary cut.pickle --at peak | grep -m 1 allocated.*highest
# Advice is that of whoever recorded.
tidemark profile --device virtual --layers 1 --d-model 64 --heads 4 --d-ff 128 --vocab 200 --context 16 --batch 1 --steps 1 --warmup 0 \
    -o own.json.gz >/dev/null
tidemark explain own.json.gz 2>/dev/null | grep 'Not known'
make leak
tidemark explain training.pickle --user-path /opt/venv/lib/python3.11/site-packages/torch/nn --format json | jq -r '.sentences.filled[]'
# The facts of the sentences, for programs.
tidemark explain training.pickle --format json | jq -c '.figures.facts_version, (.tables | keys_unsorted), .tables.growth.rows[0], .tables.peak_lines.rows[0], (.tables.causes.rows[0] | {cause, tier, bytes, growth})'
python3 "$golden/snapshots/make_fragmented.py" >facts.pickle
tidemark explain facts.pickle --format json | jq -c '.tables.failure.rows[], .tables.reserved.rows[]'
tidemark explain facts.pickle --table causes | head -n 4
# Rules of categories: the built-in ones, and one of the user's own, which the page's data keeps.
printf '# mine\nlog_of_losses  metrics\.py:append\n' >my.rules
tidemark summary training.pickle --table by_rule
tidemark summary training.pickle --table blocks
tidemark summary training.pickle --table by_rule --rules my.rules
tidemark export --to tidemark training.pickle --rules my.rules -o named.json.gz
tidemark summary named.json.gz --table by_category --format csv
printf 'log_of_losses  (\n' >bad.rules
tidemark summary training.pickle --rules bad.rules; echo "exit $?"
tidemark explain training.pickle --device 1; echo "exit $?"
tidemark explain missing.pickle; echo "exit $?"
tidemark explain; echo "exit $?"
# Fragmentation is blamed, and a setting named, where nothing grew.
for words in "" grows; do
    python3 "$golden/snapshots/make_fragmented.py" $words >fragmented.pickle
    echo "== fragmented $words"
    tidemark explain fragmented.pickle 2>progress
done
