# An answer has at most eight sentences, whatever the recording holds. Left out first are the kinds, the third cause and the
# reserved memory; the failure, its first cause and warnings stay.
count() { # the sentences of an answer; marks between backquotes are code
    python3 -c 'import re, sys
lines = [re.sub(r"`[^`]*`", "x", line) for line in sys.stdin.read().splitlines() if line]
print(sum(len(re.findall(r"[.?!](?= [^a-z]|$)", line)) + (line[-1] not in ".?!") for line in lines))'
}
check() { # NAME FILE
    n=$(tidemark explain "$2" 2>/dev/null | count)
    [ "$n" -gt 0 ] && [ "$n" -le 8 ] && n_right=$((n_right + 1)) || echo "$1: $n sentences"
}
n_right=0
for words in "" leak "leak python" "leak annotated" oom "oom fragmented" "oom leak" "oom fragmented leak" "bare leak"; do
    # shellcheck disable=SC2086
    python3 "$golden/snapshots/make_training.py" $words >made.pickle
    check "training $words" made.pickle
done
for words in "" grows; do
    # shellcheck disable=SC2086
    python3 "$golden/snapshots/make_fragmented.py" $words >made.pickle
    check "fragmented $words" made.pickle
done
# A recording with everything that an answer can have.
python3 "$golden/snapshots/make_training.py" oom leak >made.pickle
tidemark export --to tidemark made.pickle -o made.json >/dev/null
python3 - <<'END'
import json
made = json.load(open("made.json"))
made["run"]["outcome"] = "stopped"
made["inexact"] = [{"call": f"call{i}", "what": "its workspace is not known", "bound_bytes": 1 << 20, "refused": False} for i in range(12)]
json.dump(made, open("full.json", "w"))
made["assumed"] = [{"place": f"loss.py:{i}", "what": "mask", "given_least": 4, "given_most": 4, "possible": 8, "times": 1,
                    "row_bytes": 1 << 20, "all_bytes": (9 - i) << 20} for i in range(5)]
json.dump(made, open("assumed.json", "w"))
END
check "full" full.json
tidemark explain full.json
check "assumed" assumed.json
tidemark explain assumed.json | cut -c1-80
echo "$n_right recordings have at most eight sentences"
