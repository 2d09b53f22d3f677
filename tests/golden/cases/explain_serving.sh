# What servers of language models and XLA report, and work areas of cuDNN: sentences, and tables for programs.
python3 "$golden/snapshots/make_training.py" >made.pickle
tidemark export --to tidemark made.pickle -o made.json >/dev/null
python3 - <<'END'
import json
made = json.load(open("made.json"))
made["devices"][0].update(kind="virtual", name="NVIDIA H100 80GB HBM3")
pool = {"library": "vLLM", "card": 0, "bytes": 62352261120, "tokens": 475616, "request_tokens": 131072, "requests_percent": 363}
small = {"library": "vLLM", "bytes": 6259914997, "request_tokens": 47744, "asked_tokens": 65536, "asked_bytes": 8 << 30}
card = {"card": 0, "peak_bytes": 2919238656, "limit_bytes": 63692865536, "program_bytes": 2919235788, "without_cuda_graphs": True,
        "without_autotuning": True}
arrays = {"array_bytes": 1 << 30, "arrays": 8, "place": "main (train.py:10)"}
areas = {"device": 0, "calls": 474, "likely_bytes": 148 << 20, "most_bytes": 303 << 20, "allocated_none_bytes": 2883 << 20,
         "allocated_likely_bytes": 2896 << 20, "allocated_most_bytes": 2938 << 20, "reserved_none_bytes": 3450 << 20,
         "reserved_likely_bytes": 3561 << 20, "reserved_most_bytes": 3575 << 20}
for name, facts in {
    "pool": {"kv_pools": [{**pool, "card": 1}, pool]},
    "small": {"kv_pools": [small]},
    "xla": {"xla": [card, {**card, "card": 1, "peak_bytes": 1 << 30}, arrays]},
    "xla_full": {"xla": [{**card, "asked_bytes": 16 << 30, "place": "main (train.py:10)"}]},
    "platform": {"xla": [{"card": 0, "program_bytes": 2919235788}]},
    "unknown": {"kv_pools": [{**pool, "card": -1, "fitted": True}]},
    "areas": {"work_areas": [{**areas, "device": 1}, areas, {**areas, "reserved_most_bytes": 1}]},
    "same_areas": {"work_areas": [{**areas, "reserved_none_bytes": 3561 << 20, "reserved_most_bytes": 3561 << 20}]},
    "none": {},
}.items():
    json.dump({**made, **facts}, open(f"{name}.json", "w"))
made["devices"][0].update(kind="cuda")
json.dump({**made, "xla": [card]}, open("gpu.json", "w"))
END
tidemark explain none.json >none.txt
for name in pool small unknown xla xla_full platform gpu areas same_areas; do
    tidemark explain $name.json | diff none.txt - | sed -n "s/^>/$name:/p"
    tidemark explain $name.json --format json | jq -c '.sentences | keys_unsorted'
done
tidemark explain small.json | head -1
tidemark explain pool.json --format json | jq -c '.tables.kv_pools.rows'
tidemark summary pool.json --table kv_pools
tidemark explain xla.json --format json | jq -c '.tables.xla.rows'
tidemark summary xla.json --table xla
tidemark explain areas.json --format json | jq -c '.tables.work_areas.rows'
tidemark summary areas.json --table work_areas
# What ended the program comes before a request that failed, which may have been an attempt.
python3 "$golden/snapshots/make_training.py" oom >made.pickle
tidemark export --to tidemark made.pickle -o made.json >/dev/null
jq -c --slurpfile small small.json '.kv_pools = $small[0].kv_pools' made.json >oom.json
tidemark explain oom.json --format json | jq -c '.sentences | keys_unsorted'
# Of an answer that is too long, the flags and then the arrays are left out, and figures of what ended the program stay.
for words in "oom" "oom fragmented leak"; do
    # shellcheck disable=SC2086 # several words
    python3 "$golden/snapshots/make_training.py" $words >made.pickle
    tidemark export --to tidemark made.pickle -o made.json >/dev/null
    jq -c --slurpfile xla xla.json '.xla = $xla[0].xla' made.json >long.json
    tidemark explain long.json --format json | jq -c '.sentences | keys_unsorted'
done
