# shellcheck shell=bash disable=SC2154 # the sourcing script sets these variables
# report.sh - sourced by run.sh and run_carried.sh: steps, each a row of a report, profiles, and the sanitizers. The report
# is on disk after every row, so that the results so far survive if the machine is taken away. Both scripts set:
#     program    tidemark          test_gpu   the tests of kernels
#     scripts    the folder of initcheck.sh
#     report     the file          logs       a folder: a log for each step there; or, if one_log is set, all in that file
#     deadline   seconds since the epoch after which no step begins and the running one is stopped; 0: never
# part.sh, which run_carried.sh starts, also sets:
#     card       the virtual card that represents the GPU; empty: no run is repeated on one
#     pairs      pairs of steps with and without recording in each profile
#     rehearsal  not empty: a tiny model replaces each size
failures=0
rows=()
commands=() # of the steps so far
card=
pairs=0
rehearsal=
one_log=
deadline=0
details=() # sections after the report's table
shows=     # not empty: what a step prints becomes such a section

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
    commands+=("$*")
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
    # 137: it did not heed the signal, and was killed.
    if [ "$limit" -gt 0 ] && [ "$seconds" -ge "$limit" ] && { [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; }; then
        note="stopped: the time was up; $log"
    fi
    [ "$status" -eq 0 ] || tail -n 15 "$log" >&2
    [ -z "$shows" ] || details+=("## $what"$'\n\n```\n'"\$ ${*##*/}"$'\n'"$(cat "$log")"$'\n```\n')
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

# show WHAT COMMAND...: a step whose output is part of the report.
show() {
    shows=1
    step "$@"
    shows=
}

# judge_loss WHAT: whether the last shown section warns of a loss that no correct computation gives.
judge_loss() {
    [ ${#details[@]} -gt 0 ] || return 0
    case ${details[-1]} in
    "## $1"*"the loss of the run's first step is"* | "## $1"*"it is no finite number"*)
        row "loss of $1" FAILED 0 "what was computed is wrong, and its times may be: see below"
        ;;
    esac
}

# model_of SIZE CONTEXT: the options of a model, a line each.
model_of() {
    if [ -n "$rehearsal" ]; then
        printf '%s\n' --d-model 16 --layers 2 --heads 2 --d-ff 24 --vocab 37 --context 8 --batch 2
    else
        printf '%s\n' --size "$1" --context "$2"
    fi
}

# profiles FOLDER SIZE CONTEXT: times, peaks and kernels in three precisions, without PyTorch. The snapshots stay in the
# folder; those of the same runs on the virtual card, too, which have the peaks alone.
profiles() {
    local size=$2 precision file model run
    mapfile -t model < <(model_of "$2" "$3")
    run=("$program" profile "${model[@]}" --device cuda --warmup 3 --steps 5)
    for precision in bf16-mixed tf32 fp32; do
        file=$1/$size-$precision.json.gz
        rm -f "$file" # of an earlier run
        show "profile $size $precision" "${run[@]}" --overhead-pairs "$pairs" --precision "$precision" -o "$file"
        judge_loss "profile $size $precision"
        [ -z "$card" ] || step "profile $size $precision on virtual:$card" "$program" profile "${model[@]}" --device "virtual:$card" \
            --warmup 3 --steps 5 --precision "$precision" -o "$1/$size-$precision-virtual.json.gz"
    done
    # A second run: tracing costs the host time, so the times of phases above are taken without it.
    file=$1/$size-bf16-mixed-kernels.json.gz
    rm -f "$file"
    step "kernels of $size bf16-mixed" "${run[@]}" --overhead-pairs 0 --precision bf16-mixed --kernels -o "$file"
    [ ! -e "$file" ] || show "kernel table of $size bf16-mixed" "$program" summary --top 60 "$file"
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

# sanitize TOOL...: over the tests of kernels and one training step. Failed API calls are not checked: libraries ask for
# functions that a driver may lack, and tidemark checks every result itself. racecheck and initcheck also skip cuBLAS'
# own kernels; memcheck covers them all, because our wrong size becomes their wrong access.
sanitize() {
    local sanitizer tool name precision
    if ! sanitizer=$(find_sanitizer); then
        row "compute-sanitizer" "NOT RUN" 0 "it is not installed: it comes with the CUDA toolkit"
        return
    fi
    local training=("$program" profile --layers 2 --d-model 64 --heads 2 --d-ff 96 --vocab 131 --context 33 --batch 2
        --warmup 0 --steps 1 --overhead-pairs 0 --device cuda -o "$logs/step.json.gz")
    for tool in "$@"; do
        local checked=("$sanitizer" --tool "$tool" --report-api-errors no)
        case $tool in
        racecheck) checked+=(--error-exitcode 9 --kernel-name kns=tide_) ;;
        initcheck) checked=(bash "$scripts/initcheck.sh" "${checked[@]}" --print-limit 0) ;;
        *) checked+=(--error-exitcode 9) ;;
        esac
        for name in $("$test_gpu" --list); do
            [ "$name" != real_size ] || continue # hours, without any access that a small shape lacks
            step "$tool $name" "${checked[@]}" "$test_gpu" "$name"
        done
        for precision in fp32 bf16-mixed; do
            step "$tool training step $precision" "${checked[@]}" "${training[@]}" --precision "$precision"
        done
    done
    rm -f "$logs/step.json.gz"
}

# The machine by its own account. Readers of the times need the clocks.
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
        [ ${#details[@]} -eq 0 ] || printf '\n%s\n' "${details[@]}"
    } >"$report"
}
