#!/usr/bin/env bash
# Runs every command that prints a report with --format json and compares the printed names with docs/reference/json.md:
# check_json.sh PAGE TIDEMARK SOURCES MADE_PLAN
# MADE_PLAN prints the report of a plan, which needs PyTorch. A name that is printed must be on the page. A figure and a column that is on the
# page must be printed by one of the commands below. Many sentences are printed in rare cases only: such a key must at
# least occur in the sources of cli/, programs/, model/ or snapshot/explain/.
set -u
[ $# -eq 4 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
command -v jq >/dev/null || { echo "jq is missing" >&2; exit 77; }
page=$(realpath "$1")
program=$(realpath "$2")
sources=$(realpath "$3")
made_plan=$(realpath "$4")
snapshots=$sources/tests/golden/snapshots
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
cd "$scratch" || exit 1

# Runs of one command that are compared have numbers, and settings of check-reference are column names.
names='def name: sub("^run[0-9]+_"; "runN_") | sub("^replay[0-9]+"; "replayN") |
        sub("^(flash|naive)_(none|block)$"; "ATTENTION_RECOMPUTE");
    .command as $command |
    (.figures | keys_unsorted[] | "\($command) figure \(name)"),
    (.tables | to_entries[] | .key as $table | .value.columns[] | "\($command) column \($table).\(name)"),
    (.sentences | keys_unsorted[] | "\($command) sentence \(.)")'
# The envelope; bytes, counts and times in ns are integers; each row has the columns of its table, in their order.
is_sound='def whole: type == "null" or (type == "number" and . == floor);
    (keys_unsorted == ["format", "version", "command", "figures", "tables", "sentences"]) and
    .format == "tidemark-report" and .version == 1 and
    ([.figures | to_entries[] | select(.key | test("_(bytes|ns)$|s$|^(largest|next|event|device)$"))
        | select(.key | test("tokens_per_second|loss$|settings$|fits") | not) | .value | whole] | all) and
    ([.tables[] | .columns as $columns | .rows[] | keys_unsorted == $columns] | all) and
    ([.tables[] | .rows[] | to_entries[] | select(.key | test("_bytes$|^bytes$")) | .value | whole] | all) and
    ([.sentences[] | type == "array" and (map(type == "string") | all) and length > 0] | all)'

failed=0
report() { # COMMAND...
    "$program" "$@" --format json >report.json 2>errors
    local status=$?
    case $status in
    0 | 3 | 4) ;;
    *) { echo "tidemark $*: exit status $status"; cat errors; } >&2; failed=1; return ;;
    esac
    take "tidemark $*"
}
take() { # WHAT printed report.json
    jq -e "$is_sound" report.json >/dev/null ||
        { echo "$1: not the object that docs/reference/json.md describes" >&2; failed=1; }
    jq -r "$names" report.json >>printed
}

tiny="--d-model 32 --layers 1 --heads 2 --d-ff 64 --vocab 50 --context 16 --batch 2 --warmup 0"
virtual="--device virtual --steps 3"
# shellcheck disable=SC2086
{
    report profile $tiny $virtual -o one.json.gz
    report profile --workload decode --language-model tiny-int8 --device virtual --steps 1 --warmup 0 -o decode.json.gz
    report profile $tiny --device virtual:rtx4060 --steps 1 --spill 1GiB -o spill.json.gz
    report profile $tiny --device cpu --steps 10 --sync-phases --overhead-pairs 2 -o cpu.json.gz
    report profile $tiny --device cpu --steps 1 --precision fp16-mixed --overhead-pairs 0 -o half.json.gz
    report profile $tiny $virtual --precision fp32,bf16-mixed
    report profile $tiny --device virtual:h100-80 --steps 1 -o card.json.gz
    report profile $tiny --device cpu --steps 1 --precision fp32,bf16-mixed --overhead-pairs 0 -o listed/
    report profile --device virtual --steps 1 --warmup 0 --memory-limit 400MiB --mode forward,train -o some/
    # A virtual run has no kernels, and names its categories itself: these are made up.
    gzip -dc one.json.gz | jq -c '(.strings | length) as $n | .strings += ["gemm", "forward", "forward > layer"] |
        .kernels = {name: [$n], phase: [$n + 1], path: [$n + 2], launches: [4], total_ns: [4000], mean_ns: [1000],
            min_ns: [900], max_ns: [1100]} | .events.certainty = [.events.action[] | . % 3] |
            .owners = {accounts: [{device: 0, total_bytes: 8192, used_at_peak_bytes: 4096, unmeasured_bytes: 0}], rows: [{device: 0, name: "PyTorch", peak_bytes: 4096}]} | .software = {torch: "2.14.1"} |
            .pools = [[0, 1]] | .events.pool = [.events.action[] | 1] | .inexact = [{call: "cufftMakePlan", what: "not known", bound_bytes: 4096, refused: false}] |
            .assumed = [{place: "loss.py:31", what: "mask", given_least: 1, given_most: 2, possible: 9, times: 3, row_bytes: 4096, all_bytes: 28672}, {place: "train.py:9", what: "truth value", given_least: 1, given_most: 1, possible: 0, times: 3}] |
            .kv_pools = [{library: "vLLM", bytes: 4096, tokens: 16, request_tokens: 8, requests_percent: 200, asked_tokens: -1, asked_bytes: -1}] |
            .work_areas = [{device: 0, calls: 1, likely_bytes: 1, most_bytes: 2, reserved_none_bytes: 3}] |
            .xla = [{card: 0, peak_bytes: 4096, limit_bytes: 8192, without_autotuning: true}, {array_bytes: 4096, arrays: 1, place: "train.py:3"}]' >traced.json
    report explain traced.json
    report explain "$snapshots/three-devices.pickle"
    report explain "$sources/tests/fuzz/corpus/answers/message_2_4"
    report explain "$sources/tests/fuzz/corpus/answers/statistics"
    report summary traced.json --tree category,name --fragmentation --at peak
    report summary cpu.json.gz --steps --leaks
    report summary "$snapshots/three-devices.pickle"
    report compare one.json.gz cpu.json.gz --fail-if 'peak_allocated > +1%'
    report compare one.json.gz pytorch:2026
    "$program" digest one.json.gz --rank 0 -o base.digest.json.gz >/dev/null
    python3 "$snapshots/../../ranks/make_digests.py" base.digest.json.gz job 64
    gzip -dc job/rank0.digest.json.gz | jq -c '.devices[0].counts.dropped = 1 | .devices[0].low_bytes = 1 | .devices += [.devices[0]]' >job/rank0.digest.json
    rm job/rank0.digest.json.gz
    report ranks job
    report replay one.json.gz --over-time 3
    report replay one.json.gz --alloc-conf expandable_segments:True --alloc-conf max_split_size_mb:32 --over-time 2
    report replay "$snapshots/three-devices.pickle" --grid
    report replay "$snapshots/three-devices.pickle" --memory-limit 1GiB
    python3 "$sources/tests/golden/launches/make_launches.py" train.launches
    report time train.launches --cards h100-80,a100-40
    report fit --size small --memory-limit 2GiB
    report fit --find model --device virtual:t4-16 --mode forward,train
    report forecast --time --size small --context 64 --device virtual:h100-80
    report forecast --size small --memory-limit 1GiB
    report forecast --size large --device virtual:rtx4060 --spill 16GiB
    report sweep $tiny $virtual --precision fp32,bf16-mixed -o virtual.jsonl
    report sweep $tiny $virtual --repeat 2 -o repeated.jsonl
    "$program" profile $tiny $virtual --log run.log -o logged.json.gz >/dev/null 2>&1
    report top run.log
    report study
    report study parameters --size small
    report study accumulation
    report study assignment --size small --context 64 -o "$scratch/assignment"
    report study residuals --size small --context 64
    report study memory --size small --context 64
    report study memory --size small,medium --context 64,128 --batch 1,2 --attention flash,naive --mode train
    report study end-to-end --size small --device virtual:h100-80 --steps 1 --warmup 0
    for study in end-to-end precision; do
        report study $study --d-model 32 --layers 1 --heads 2 --d-ff 64 --vocab 50 --context 16 --device cpu --warmup 1 --steps 2
    done
    report study warmup --d-model 32 --layers 1 --heads 2 --d-ff 64 --vocab 50 --context 16 --device cpu --warmup 0,1 --steps 2 --repeat 2
    report study kernels --d-model 32 --layers 1 --heads 2 --d-ff 64 --vocab 50 --context 16 --device cpu --warmup 1 --steps 2
    for bench in allocator recorder symbols; do
        report bench $bench --brief --rounds 2 --samples
    done
    for bench in matmul mlp layernorm gemv gather-gemv layer-forward layer-backward copy; do
        report bench $bench --device cpu --brief --rounds 2 --samples --target 1e9
    done
    report bench mlp-norm --device cpu --brief --rounds 2 --peak-tflops 1
    report bench suite --device cpu --brief --rounds 2
    report bench mlp-scaling --device cpu --brief --rounds 2 --samples
    report check-reference "$sources/tests/reference/tiny_fp32.safetensors"
    report devices
    report devices --cards
    report devices --simulated
    "$made_plan" >report.json || failed=1
    take "$made_plan"
}
sort -u printed >names.printed

# The page has a section "## COMMAND", rows "| `figure` | ...", lines "- `table`: `column`, ..." and one "Sentences: `key`, ...".
awk '/^## / { command = $2 }
    /^\| `[a-zA-Z0-9_]+` \|/ { split($0, part, "`"); print command, "figure", part[2] }
    /^- `[a-z_]+`:/ { n = split($0, part, "`"); for (i = 4; i < n; i += 2) print command, "column", part[2] "." part[i] }
    /^Sentences: / { n = split($0, part, "`"); for (i = 2; i < n; i += 2) print command, "sentence", part[i] }' "$page" |
    sort -u >names.documented

comm -23 names.printed names.documented | sed 's/^/printed, but not documented: /' >wrong
comm -13 names.printed names.documented | while read -r command kind name; do
    if [ "$kind" = sentence ]; then
        grep -rqE "\"$name\"" "$sources/cli" "$sources/programs" "$sources/model" "$sources/snapshot/explain" && continue
    fi
    echo "documented, but not printed: $command $kind $name"
done >>wrong
cat wrong >&2
echo "$(wc -l <names.printed) names printed, $(wc -l <names.documented) documented"
[ ! -s wrong ] && [ "$failed" -eq 0 ]
