# shellcheck shell=bash disable=SC2154 # what whoever sources it sets
# report.sh - sourced by run.sh and run_carried.sh: steps, each a row of a report, and the sanitizers. The report is on
# disk after every row, so that what is known survives a machine that is taken away. They set:
#     program    tidemark          test_gpu   the tests of kernels
#     report     the file          logs       a folder: a log for each step there; or, if one_log is set, all in that file
#     deadline   seconds since the epoch after which nothing is begun and what runs is stopped; 0: never
failures=0
rows=()
one_log=
deadline=0

say() { printf '%s\n' "$*" >&2; }

# row WHAT RESULT SECONDS NOTE
row() {
    rows+=("| $1 | $2 | $3 | $4 |")
    say "gpu: $1: $2, $3 s${4:+ ($4)}"
    [ "$2" = passed ] || failures=$((failures + 1))
    write_report
}

# step WHAT COMMAND...: one row; output goes to a log, and the end of what failed to stderr too.
step() {
    local what=$1 log begin status=0 limit=0
    shift
    log=$logs/$(printf '%s' "$what" | tr -c 'A-Za-z0-9\n' -).log
    begin=$(date +%s)
    if [ "$deadline" -gt 0 ]; then
        limit=$((deadline - begin))
        if [ "$limit" -lt 5 ]; then
            row "$what" "NOT RUN" 0 "the time was up"
            return
        fi
    fi
    # timeout 0: no limit.
    timeout --kill-after=5 "$limit" "$@" >"$log" 2>&1 || status=$?
    local seconds=$(($(date +%s) - begin)) note=$log
    [ "$status" -ne 124 ] || [ "$limit" -eq 0 ] || note="stopped: the time was up; $log"
    [ "$status" -eq 0 ] || tail -n 15 "$log" >&2
    if [ -n "$one_log" ]; then
        note=${note%"$log"}$one_log
        { echo "== $what: $*" && cat "$log" && echo "== exit $status after $seconds s" && echo; } >>"$one_log"
        rm -f "$log"
    fi
    if [ "$status" -eq 0 ]; then
        row "$what" passed "$seconds" ""
    else
        row "$what" FAILED "$seconds" "$note"
    fi
}

find_sanitizer() {
    local folder
    command -v compute-sanitizer && return 0
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
        [ -n "$folder" ] && [ -x "$folder/bin/compute-sanitizer" ] && echo "$folder/bin/compute-sanitizer" && return 0
        [ -n "$folder" ] && [ -x "$folder/compute-sanitizer/compute-sanitizer" ] &&
            echo "$folder/compute-sanitizer/compute-sanitizer" && return 0
    done
    return 1
}

# sanitize TOOL...: over the tests of kernels and one training step. Errors of calls are not its business: libraries ask
# for functions that a driver may lack, and tidemark looks at every answer itself.
sanitize() {
    local sanitizer tool name precision
    if ! sanitizer=$(find_sanitizer); then
        row "compute-sanitizer" "NOT RUN" 0 "it is not installed: it comes with the CUDA toolkit"
        return
    fi
    local training=("$program" profile --layers 2 --d-model 64 --heads 2 --d-ff 96 --vocab 131 --context 33 --batch 2
        --warmup 0 --steps 1 --overhead-pairs 0 --device cuda -o "$logs/step.json.gz")
    for tool in "$@"; do
        local checked=("$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 9)
        for name in $("$test_gpu" --list); do
            step "$tool $name" "${checked[@]}" "$test_gpu" "$name"
        done
        for precision in fp32 bf16-mixed; do
            step "$tool training step $precision" "${checked[@]}" "${training[@]}" --precision "$precision"
        done
    done
    rm -f "$logs/step.json.gz"
}

# The machine as it says itself; the clocks matter to whoever reads times.
machine() {
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit --format=csv,noheader 2>/dev/null
    "$program" devices 2>/dev/null | sed -nE 's/^  (cuda(:[0-9]+)?) +/\1: /p'
}

machine_lines=
write_report() {
    [ -n "$machine_lines" ] || [ ! -x "$program" ] || machine_lines=$(machine | sed 's/^/- /')
    {
        echo "# GPU tests"
        echo
        date -u '+%Y-%m-%d %H:%M UTC'
        echo "$machine_lines"
        echo "- ${revision:-commit unknown}"
        echo
        echo "| what | result | s | log |"
        echo "|---|---|---|---|"
        printf '%s\n' "${rows[@]}"
        echo
        if [ "$failures" -eq 0 ]; then
            echo "All passed."
        else
            echo "$failures of ${#rows[@]} failed or were not run."
        fi
    } >"$report"
}
