# Several files take the place of sizes in a grid, and each model is named by its file.
mkdir models
echo '{"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 2, "vocab_size": 1000}' >models/narrow.json
echo '{"d_model": 128, "n_heads": 4, "d_ff": 256, "n_layers": 1, "vocab_size": 1000, "batch_size": 2}' >models/wide.json
tidemark sweep --device virtual --config models/narrow.json,models/wide.json --mode forward,train --context 32 --warmup 0 --steps 1 -o rows.jsonl --format csv | cut -d, -f1-6
head -1 rows.jsonl | jq -c '.. | .models? // empty'
tidemark study parameters --config models/narrow.json,models/wide.json --format markdown
tidemark study memory --device virtual --config models/narrow.json,models/wide.json --context 32 --mode forward --precision fp32 --table peaks --format csv 2>/dev/null | cut -d, -f1-4
tidemark study end-to-end --device virtual --config models/narrow.json,models/wide.json --context 32
tidemark profile --device virtual --config models/narrow.json,models/wide.json --context 32 --warmup 0 --steps 1 >profile.txt; echo "exit $?" >&2
ls
# Names must tell the models apart, and no result may replace a model.
try() { tidemark sweep --device virtual "$@" -o again.jsonl; echo "exit $?" >&2; }
cp models/wide.json wide.json
cp models/wide.json a-name-that-is-longer-than-a-row-can-hold.json
try --config wide.json,models/wide.json
try --config wide.json,wide.json
try --config wide.json,
try --config wide.json,missing.json
try --config wide.json,a-name-that-is-longer-than-a-row-can-hold.json
try --config wide.json,models/narrow.json --size small
tidemark sweep --device virtual --config models/narrow.json,wide.json -o wide.json; echo "exit $?" >&2
