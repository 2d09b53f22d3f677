#!/usr/bin/env bash
# rehearsal.sh ROOT TIDEMARK MADE-LOG FAKE-CUPTI KERNEL-TEST...: the half hour of a carried build, all of run.sh, on the
# fake runtime: TIDEMARK is linked with it, and the KERNEL-TESTs run in the emulator. Stand-ins replace the tools that
# only machines with a GPU have: nvidia-smi, compute-sanitizer, a PyTorch, and what `tidemark run` would record of it.
# Checks that each part leaves its page, that no number is taken for measured, and that a part which fails or hangs is
# reported and stops no other.
set -u
root=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v python3 >/dev/null || { echo "skipped: python3 is absent" && exit 77; }
failures=0
fail() {
    echo "rehearsal: $1"
    failures=$((failures + 1))
}
# wants TEXT FILE
wants() {
    grep -qF -- "$1" "$2" && return
    fail "\"$1\" is not in ${2##*/}:"
    tail -n 60 "$2"
}

carried=$work/carried
bash "$root/tests/gpu/carry_scripts.sh" "$root" "$carried" || exit 1
mkdir -p "$carried/bin" "$work/tools"
export EMULATED=$2 MADE_LOG=$3 TIDEMARK_CUPTI=$4
export KERNEL_TESTS="${*:5}"
printf '#!/bin/sh\n"$EMULATED" devices | grep "^  cuda:0 *here"\n' >"$carried/tests/tide_gpu_probe"

# The program of the fake runtime. What it would record of a PyTorch program is a made log: of one step more on the GPU
# where EVENTS_DIFFER is set.
cat >"$carried/bin/tidemark" <<'TEXT'
#!/usr/bin/env bash
case "${1:-} ${2:-}" in
"run "*) ;;
"bench calibrate") exit 0 ;; # it measures PyTorch, which is not here
*) exec "$EMULATED" "$@" ;;
esac
steps=3
case $* in
*"--device virtual"*) ;;
*)
    [ -z "${ZOO_HANGS:-}" ] || sleep 600
    [ -z "${EVENTS_DIFFER:-}" ] || steps=4
    ;;
esac
while [ "$1" != -- ]; do
    case $1 in
    --log) log=$2 ;;
    -o) snapshot=$2 ;;
    esac
    shift
done
"$MADE_LOG" "$log" "$steps" || exit 1
echo '{"devices": [{"kind": "cuda", "name": "Fake GPU 0"}], "owners": {"accounts": [{"used_at_peak_bytes": 100, "unexplained_at_peak_bytes": 1}]}}' |
    gzip >"$snapshot"
TEXT
cat >"$carried/tests/test_gpu" <<'TEXT'
#!/usr/bin/env bash
for program in $KERNEL_TESTS; do
    name=${program##*_ops_}
    [ "$1" != --list ] || echo "$name"
    [ "$1" != "$name" ] || [ "${KERNEL_FAILS:-}" = "$name" ] || exec "$program"
done
[ "$1" = --list ]
TEXT
cat >"$work/tools/nvidia-smi" <<'TEXT'
#!/usr/bin/env bash
case $* in
*=name\ *) echo "Fake GPU 0" ;;
*timestamp*) echo "2026/01/01 00:00:00.000, 1980 MHz, 2619 MHz, [N/A], [N/A]" ;;
*) echo "Fake GPU 0, stand-in" ;;
esac
TEXT
# Every option of it that is used here has a value.
cat >"$work/tools/compute-sanitizer" <<'TEXT'
#!/usr/bin/env bash
while [[ $1 == --* ]]; do shift 2; done
"$@" && echo "========= ERROR SUMMARY: 0 errors"
TEXT
cat >"$work/tools/python-with-pytorch" <<'TEXT'
#!/usr/bin/env bash
case $* in
*pytorch_steps.py*)
    echo '{"torch": "stand-in", "python": "stand-in", "threads": 1, "blas": [], "cublas": null, "n_parameters": 1,
        "peak_allocated_bytes": 1, "phases": [
        {"name": "forward", "host_ms": [1, 1], "device_ms": [1, 1]}, {"name": "backward", "host_ms": [1, 1], "device_ms": [1, 1]},
        {"name": "optimizer", "host_ms": [1, 1], "device_ms": [1, 1]}, {"name": "step", "host_ms": [3, 3], "device_ms": [3, 3]}]}'
    ;;
*torch.__version__*) echo "PyTorch stand-in" ;;
*torch*) ;;
*) exec python3 "$@" ;;
esac
TEXT
chmod +x "$carried"/bin/* "$carried"/tests/*_gpu* "$work"/tools/*

# half_hour NAME EXIT "ARGUMENT..." [VARIABLE=VALUE...]: into $out.
half_hour() {
    local name=$1 wanted=$2 arguments=$3 status
    shift 3
    out=$work/${name// /-}
    # shellcheck disable=SC2086 # a list of words
    env -u CUDA_HOME -u CUDA_PATH PATH="$work/tools:$PATH" OMP_WAIT_POLICY=passive TIDEMARK_GPU_CARD=h100-80 \
        TIDEMARK_PYTORCH_PYTHON="$work/tools/python-with-pytorch" "$@" \
        bash "$carried/run.sh" --rehearsal --out "$out" $arguments >"$out.stdout" 2>"$out.stderr"
    status=$?
    [ $status -eq "$wanted" ] || { fail "$name: exit $status instead of $wanted" && cat "$out.stdout" "$out.stderr"; }
}
# ends PART STATE: what the summary reports about it.
ends() {
    grep -q "^| $1 | $2 | " "$out/summary.md" || { fail "$1 did not end as '$2' in ${out##*/}" && cat "$out/$1.md" "$out/summary.md"; }
}
# nothing_invented: no wanted number of a page is judged.
nothing_invented() {
    local page
    for page in "$out"/*.md; do
        [ "${page##*/}" != bench-table.md ] || continue
        sed -n '/^## Wanted numbers/,/^## Raw/p' "$page" | grep -E '\| (met|missed) \|' && fail "${page##*/} judges a number of the fake runtime"
    done
    [ "$(grep -c '| not measured |' "$out/summary.md")" -eq 17 ] || { fail "not 17 numbers are not measured" && cat "$out/summary.md"; }
}

parts=(smoke zoo profile calibrate sanitizers bench)
tiny="-- --d-model 16 --layers 2 --heads 2 --d-ff 24 --vocab 37 --batch 2 --sizes small --contexts 8 --precisions tf32 --rounds 1
    --warmup 1 --steps 2 --no-compile"
half_hour "all parts" 0 "$tiny"
for part in "${parts[@]}"; do
    ends "$part" passed
    for heading in Command Versions Clocks Steps "Wanted numbers" "Raw samples"; do
        grep -qx "## $heading" "$out/$part.md" || fail "$part.md has no heading '$heading'"
    done
    wants "1980 MHz" "$out/$part.md"
    wants "This was a rehearsal" "$out/$part.md"
done
nothing_invented
[ "$(grep -oE '^\| (smoke|zoo|profile|calibrate|sanitizers|bench) ' "$out/summary.md" | tr -d '| \n')" = smokezooprofilecalibratesanitizersbench ] ||
    fail "the parts did not run in their order"
wants "not measured: the device is Fake GPU 0, neither an H100 nor an H200" "$out/summary.md"
wants "| small, context 128, forward, with a graph | passed |" "$out/smoke.md"
wants "| smoke-graph.json.gz | Fake GPU 0 | step, device_ms | " "$out/smoke.md"
wants "| 2.7B-bf16-mixed.json.gz | Fake GPU 0 | forward, device_ms | " "$out/profile.md"
wants "| 2.7B-bf16-mixed.json.gz | Fake GPU 0 | recorded_ms | " "$out/profile.md"
wants "### kernel table of small bf16-mixed" "$out/profile.md"
wants "7 of 7 programs have the same events, and an account that adds up, on Fake GPU 0" "$out/zoo.md"
wants "| racecheck swiglu | passed |" "$out/sanitizers.md"
wants "#### Samples" "$out/bench.md"
wants "small, context 8, tf32, tidemark | forward | 1 | " "$out/bench.md"

# One part fails, one hangs, one finds nothing to run: each is reported, and the later ones run.
half_hour "a hang" 1 "--limit zoo=6 smoke zoo calibrate sanitizers" KERNEL_FAILS=swiglu ZOO_HANGS=1
ends smoke failed
wants "| kernels swiglu | FAILED |" "$out/smoke.md"
wants "| kernels elements | passed |" "$out/smoke.md"
ends zoo "ran out of time"
# On a busy machine the time may be up before the first program has begun.
grep -qF "stopped: the time was up" "$out/zoo.md" || wants "NOT RUN | 0 | the time was up" "$out/zoo.md"
wants "not measured: the comparison did not come to its end" "$out/zoo.md"
ends sanitizers failed # swiglu's kernels also fail under each tool
half_hour "no PyTorch" 1 "zoo" TIDEMARK_PYTORCH_PYTHON=/nowhere
ends zoo "not run"
wants "TIDEMARK_PYTORCH_PYTHON names a Python that has it" "$out/zoo.md"
half_hour "other events" 1 "zoo" EVENTS_DIFFER=1
ends zoo failed
wants "FAIL mlp.py" "$out/zoo.md"
wants "on the card: no more events" "$out/zoo.md"
half_hour "no time" 1 "--seconds 2 smoke calibrate"
ends smoke "ran out of time"
ends calibrate "ran out of time"
nothing_invented
half_hour "an unknown part" 2 "smok"
half_hour "an unknown limit" 2 "--limit zoo"

# Results of a card of the right name and model are judged.
judged=$work/judged
mkdir "$judged"
python3 - "$judged" <<'PYTHON'
import gzip, json, sys

def snapshot(name, kind, device, times, peak):
    phases = [{"name": phase, "device_ms": [time] * 3, "host_ms": [time] * 3} for phase, time in times.items()]
    document = {"run": {"model": {"size": "2.7B"}, "context_length": 512, "precision": "bf16-mixed", "outcome": "completed"},
                "devices": [{"kind": kind, "name": device}],
                "timing": {"phases": phases, "recorder_pairs": {"recorded_ms": [102.0], "unrecorded_ms": [100.0]}},
                "summary": [{"max": {"allocated": {"bytes": peak}, "reserved": {"bytes": 9}}}]}
    with gzip.open(f"{sys.argv[1]}/{name}", "wt") as file:
        json.dump(document, file)

snapshot("2.7B-bf16-mixed.json.gz", "cuda", "NVIDIA H200", {"forward": 30.0, "backward": 52.5, "optimizer": 20.0}, 7)
snapshot("2.7B-bf16-mixed-virtual.json.gz", "virtual", "NVIDIA H200", {}, 5)
# The name of the file says TF32, its run does not.
snapshot("2.7B-tf32.json.gz", "cuda", "NVIDIA H200", {"forward": 1.0, "backward": 1.0}, 7)
with open(f"{sys.argv[1]}/bench-table.md", "w") as file:
    file.write("- device: kind cuda, name NVIDIA H200, total_bytes 1\n\n| size | context | precision | phase | eager, ms | ratio |\n"
               "|---|---|---|---|---|---|\n| 2.7B | 512 | tf32 | step | 9 | 0.701 |\n| 2.7B | 512 | fp32 | step | 9 | 0.950 |\n")
PYTHON
python3 -B "$carried/tests/gpu/wanted.py" summary "$judged" >"$judged/summary.md" || fail "wanted.py ends with $?"
for line in "bf16-mixed: forward | 30 (H200) | ms | 30 | met |" "bf16-mixed: backward | 52 (H200) | ms | 52.5 | missed |" \
    "bf16-mixed: optimizer | 24 (H200) | ms | 20 | met |" "recording on against off | 1 | % | 2 | missed |" \
    "peak against the virtual card | 0 | bytes | 2 | missed |" "tf32: step beside PyTorch eager | 0.7 | of PyTorch eager's step | 0.701 | missed |" \
    "fp32: step beside PyTorch eager | 0.95 | of PyTorch eager's step | 0.95 | met |" \
    "not measured: 2.7B-tf32.json.gz is of 2.7B, context 512, bf16-mixed"; do
    wants "$line" "$judged/summary.md"
done
[ $failures -eq 0 ]
