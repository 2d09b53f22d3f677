# What servers of language models and XLA report: sentences, and tables for programs.
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
for name, facts in {
    "pool": {"kv_pools": [{**pool, "card": 1}, pool]},
    "small": {"kv_pools": [small]},
    "xla": {"xla": [card, {**card, "card": 1, "peak_bytes": 1 << 30}, arrays]},
    "xla_full": {"xla": [{**card, "asked_bytes": 16 << 30, "place": "main (train.py:10)"}]},
    "platform": {"xla": [{"card": 0, "program_bytes": 2919235788}]},
    "unknown": {"kv_pools": [{**pool, "card": -1, "fitted": True}]},
    "none": {},
}.items():
    json.dump({**made, **facts}, open(f"{name}.json", "w"))
made["devices"][0].update(kind="cuda")
json.dump({**made, "xla": [card]}, open("gpu.json", "w"))
END
tidemark explain none.json >none.txt
for name in pool small unknown xla xla_full platform gpu; do
    tidemark explain $name.json | diff none.txt - | sed -n "s/^>/$name:/p"
    tidemark explain $name.json --format json | jq -c '.sentences | keys_unsorted'
done
tidemark explain small.json | head -1
tidemark explain pool.json --format json | jq -c '.tables.kv_pools.rows'
tidemark summary pool.json --table kv_pools
tidemark explain xla.json --format json | jq -c '.tables.xla.rows'
tidemark summary xla.json --table xla
# What ended the program comes before a request that failed, which may have been an attempt.
python3 "$golden/snapshots/make_training.py" oom >made.pickle
tidemark export --to tidemark made.pickle -o made.json >/dev/null
jq -c --slurpfile small small.json '.kv_pools = $small[0].kv_pools' made.json >oom.json
tidemark explain oom.json --format json | jq -c '.sentences | keys_unsorted'
