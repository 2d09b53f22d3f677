# Values that a virtual card did not compute and that were assumed: sentences, a verdict that all rows could overturn, and
# tables for programs.
python3 "$golden/snapshots/make_training.py" >made.pickle
tidemark export --to tidemark made.pickle -o made.json >/dev/null
python3 - <<'END'
import json
made = json.load(open("made.json"))
made["run"]["outcome"] = "completed"
made["devices"][0].update(kind="virtual", name="NVIDIA H100 80GB HBM3")
made["owners"] = {"accounts": [{"device": 0, "total_bytes": 80 << 30, "used_at_peak_bytes": 60 << 30}], "rows": []}
rows = [{"place": f"moe.py:{i}", "what": "mask", "given_least": 3985, "given_most": 4216, "possible": 16384, "times": 48,
         "row_bytes": 1 << 20, "all_bytes": 12168 << 20} for i in range(1, 4)]
value = {"place": "train.py:12", "what": "truth value", "given_least": 1, "given_most": 1, "possible": 0, "times": 3,
         "row_bytes": 0, "all_bytes": 0}
for name, assumed in {"fits": rows[:1] + [value], "together": rows + [value]}.items():
    json.dump({**made, "assumed": assumed}, open(f"{name}.json", "w"))
rows[0]["all_bytes"] = 21 << 30
json.dump({**made, "assumed": rows[:1]}, open("alone.json", "w"))
json.dump({**made, "assumed": [value]}, open("value.json", "w"))
END
for name in fits together alone; do
    tidemark explain $name.json | grep -i assumed
    tidemark explain $name.json --format json | jq -c '.figures.fits_with_all_rows, .sentences.assumed_limit, (.tables.assumed.rows | length)'
done
tidemark explain fits.json --format json | jq -c '.tables.assumed.rows'
tidemark summary fits.json --table assumed
# What may overturn the verdict comes before the peak, what only may change the course of the program after it; in JSON, too.
for name in value fits together alone; do
    tidemark explain $name.json --format json | jq -c '.sentences | keys_unsorted'
done
tidemark explain value.json | cut -c 1-60
