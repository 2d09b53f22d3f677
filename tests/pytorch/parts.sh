#!/usr/bin/env bash
# What ./dev pytorch checks, part by part: parts.sh PYTHON SHARED [--full OTHER PROGRAMS] [--within SECONDS] [PART...] [zoo ROW...]
# PYTHON has a CUDA build of PyTorch, SHARED holds recordings of real cards. --full: the long cases, too, with OTHER, an
# interpreter that also has the packages of other people, and PROGRAMS, one for tests/pytorch/zoo/packages. Without a PART all
# run; ROW begins the name of a row of the zoo.
# Parts that keep one core busy run two at a time. Each prints what it said once it has ended, with its time, and what
# failed is named at the end.
set -u
python=$1 shared=$2
shift 2
full= other=$python programs=$python
if [ "${1:-}" = --full ]; then
    full=--full other=$2 programs=$3
    shift 3
fi
within=
if [ "${1:-}" = --within ]; then
    within=$2
    shift 2
fi
only=() rows=()
while [ $# -gt 0 ]; do
    only+=("$1")
    [ "$1" != zoo ] || rows=("${@:2}")
    [ "$1" != zoo ] || break
    shift
done
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tests=$root/tests
tidemark=$root/build/dev/cli/tidemark
library=$root/build/dev/programs/libtidemark_virtual_cuda.so
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# A part that is named, or any. After the time that --within gives, no part begins, and those left out are listed.
begins() { # PART
    [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]] || return 1
    [ -n "$within" ] && [ $SECONDS -ge "$within" ] || return 0
    echo "$1" >>"$logs/late"
    return 1
}

# Runs a part and prints it as a whole.
run_part() { # PART WHAT COMMAND...
    local begin=$SECONDS status=0
    "${@:3}" >"$logs/$1.out" 2>&1 </dev/null || status=$?
    [ $status -eq 0 ] || echo "$1" >>"$logs/failed"
    exec {lock}>"$logs/lock"
    flock "$lock"
    echo "$2 ($1, $((SECONDS - begin)) s, status $status):"
    cat "$logs/$1.out"
    exec {lock}>&-
}

beside() { # PART WHAT COMMAND...: beside one other part
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    begins "$1" || return 0
    run_part "$@" &
}

alone() { # PART WHAT COMMAND...: a part that uses both cores, or measures time
    wait
    begins "$1" || return 0
    run_part "$@"
}

both=(--tidemark "$tidemark" --python "$python")

# What a change is checked with, of the parts that start most programs.
growth=(summed_loss hook_keeps own_steps losses_after_backward longer_and_longer loop_over_models accumulation
    evaluation_between ema_starts_late late_state lbfgs few_steps)
faults=("exception at exit" "exception in a thread" "sys.exit in a thread" "exit at once" abort "killed by itself" interrupt
    "caught out of memory" "all files closed" "stderr closed" "no environment" "many forks" "fork that" "module names")
[ -z "$full" ] || growth=() faults=()

# tidemark builds its engine of values for this PyTorch once, in minutes on a busy machine: the limits of the parts are for
# what comes after.
"$tidemark" run --device virtual:h100-80 -o "$logs/first.json.gz" --html "$logs/first.html" -- \
    "$python" -c "import torch; torch.zeros(1, device='cuda')" >"$logs/first.out" 2>&1 </dev/null || cat "$logs/first.out"

# The most telling first, since --within may end the rest.
alone zoo "scripts of the zoo" \
    "$other" -B "$here/zoo/run.py" --tidemark "$tidemark" --python "$other" $full "${rows[@]}"
[ -z "$full" ] || alone packages "programs of other people's packages" \
    "$programs" -B "$here/zoo/run.py" --tidemark "$tidemark" --python "$programs" --full --jobs 1 packages
alone truth "the recording beside PyTorch's own history" \
    "$python" -B "$here/live/check_truth.py" "${both[@]}" $full
alone starts "recorded programs, however they are started" \
    python3 -B "$here/live_starts.py" "$tidemark" "$python"
alone faults "recorded programs that go wrong" \
    python3 -B "$here/live_faults.py" "$tidemark" "$python" "${faults[@]}"
# Two lanes. The longest come first: the other lane ends with the short ones.
beside growth "programs whose memory grows, and others" \
    python3 -B "$here/check_growth.py" "${both[@]}" "${growth[@]}"
beside names "names of the tensors of models that are local, frozen, copied or deleted" \
    python3 -B "$here/names/check_names.py" "${both[@]}"
beside models "lines and names of what fills the peak of five models" \
    python3 -B "$here/names/check_models.py" "${both[@]}"
beside plain "the staff model beside closed forms and the forecast" \
    "$here/plain.sh" "$tidemark" "$python" "$library" "$shared" $full
# Some hundred seconds of processor time each, for constants that change seldom.
[ -z "$full" ] || beside times "forecasts of steps, beside published times" \
    bash "$here/time/check_times.sh" "$tidemark" "$python" "$root/build/dev/tests/step_time/fit_step_time" "$shared"
[ -z "$full" ] || beside kernel_times "the table of comparisons, beside published times of kernels" \
    bash "$here/time/check_kernel_times.sh" "$tidemark" "$(dirname "$(dirname "$(dirname "$python")")")" \
    "$root/build/dev/tests/step_time/fit_kernels" "$shared"
beside planned "tidemark plan" \
    python3 -B "$tests/plan/check_plan.py" --tidemark "$tidemark" --python "$python" $full
beside pages "the outputs that README.md and pages of docs show" \
    python3 -B "$tests/docs/check_outputs.py" "${both[@]}" "$root/README.md" \
    "$root"/docs/guide/{out-of-memory,will-it-fit,which-settings,many-ranks,pickle,ci,serving}.md
beside refusals "what tidemark plan can change, what it refuses, and that numbers stay the same" \
    bash "$tests/plan/run.sh" refusals "$tidemark" "$python"
beside command "tidemark run" \
    python3 -B "$tests/virtual_cuda/command.py" "$tidemark" "$python"
alone pytest_plugin "tests with limits in pytest" \
    "$here/pytest_plugin/run.sh" "$root/build/dev/tests/pytorch/packages" "$python" "pytest pytest-xdist mcp" \
    {python} -B "$here/pytest_plugin/check_plugin.py" "$tidemark" {python}
beside ci "a change compared with its base branch" \
    "$python" -B "$here/pytest_plugin/check_ci.py" "$tidemark" "$python"
alone agents "commands and tools for agents" \
    "$here/pytest_plugin/run.sh" "$root/build/dev/tests/pytorch/packages" "$python" "pytest pytest-xdist mcp" \
    {python} -B "$here/pytest_plugin/check_agents.py" "$tidemark" {python}
beside sweep "tidemark fit and sweep with programs" \
    python3 -B "$tests/virtual_cuda/fit_and_sweep.py" "$tidemark" "$python" "$logs"
beside card "the virtual card, beside the headers of NVIDIA's, and values that programs read" \
    "$tests/virtual_cuda/run.sh" "$python" "$library"
beside ranks "ways of spreading a model over ranks, beside the figures on paper" \
    python3 -B "$here/ranks/run.py" --tidemark "$tidemark" --python "$other" $full
beside launches "launch logs, beside figures counted by hand" \
    python3 -B "$here/check_launches.py" "${both[@]}"
beside categories "categories beside those of PyTorch's own file" \
    python3 -B "$here/names/check_rules.py" "${both[@]}"
beside cluster "some ranks of a larger world, the ranks of a node, and the answer about them" \
    python3 -B "$here/ranks/cluster.py" "${both[@]}"
beside published "a sample of published figures" \
    env TIDEMARK_SHARED="$shared" python3 -B "$tests/published/run.py" --tidemark "$tidemark" \
    --caches "$(dirname "$(dirname "$(dirname "$python")")")" --sample
beside bytes "what launch logs say that kernels move, beside the sizes of tensors" \
    python3 -B "$here/time/check_bytes.py" "$tidemark" "$python"
beside guessed "how much of three models is guessed" \
    python3 -B "$here/time/check_guessed.py" "$tidemark" "$python"
beside counts "loops of Triton's kernels up to numbers on the card" \
    python3 -B "$here/time/check_counts.py" "${both[@]}"
beside shapes "launch logs of operations whose shapes are given" \
    python3 -B "$here/time/check_shapes.py" "${both[@]}"
beside lines "the line of the program that holds the most, and retries at the card's limit" \
    python3 -B "$here/check_lines.py" "${both[@]}"
beside failure "what a run finds out at its first failed request" \
    python3 -B "$here/check_failure.py" "${both[@]}"
beside settings "settings of the allocator, beside those that PyTorch accepts" \
    "$python" -B "$here/check_settings.py" --tidemark "$tidemark"
beside accumulation "sums and types of study accumulation, beside PyTorch's" \
    "$python" -B "$here/check_accumulation.py" --tidemark "$tidemark"
alone plan "changes of tidemark plan, beside the same changes made by hand" \
    bash "$tests/plan/run.sh" pairs "$tidemark" "$other" $full
# With the packages of other people, offline.
[ -z "${TIDEMARK_TRACKERS_PYTHON:-}" ] || beside trackers "trackers, trainers and notebooks with their real packages" \
    bash "$tests/trackers/run.sh" "$tidemark" "$TIDEMARK_TRACKERS_PYTHON"
# These measure time.
alone clock "a program that sees the forecast's clock" \
    python3 -B "$here/time/check_clock.py" "$tidemark" "$python"
alone calibration "the calibration of this machine, and a forecast with it" \
    python3 -B "$here/time/check_calibration.py" "$tidemark" "$python"
alone killed "runs that are killed" \
    python3 -B "$tests/virtual_cuda/kills.py" "$tidemark" --runs 95 --torch "$python" --torch-runs 5
alone kills "recorded programs that are killed" \
    python3 -B "$here/live_kills.py" "$tidemark" "$python"
alone box "programs under a black box" \
    python3 -B "$here/live_box.py" "$tidemark" "$python" --kills "$([ -n "$full" ] && echo 200 || echo 6)"
[ -z "$full" ] || alone box_cost "what a black box costs a step" \
    python3 -B "$here/box_cost.py" "$tidemark" "$python"
alone running "recorded programs while they run" \
    "$python" -B "$here/live_running.py" "$tidemark" "$python"
wait
[ ! -e "$logs/late" ] || echo "not begun within $within s: $(tr '\n' ' ' <"$logs/late")"
[ ! -e "$logs/failed" ] || {
    echo "failed: $(sort "$logs/failed" | tr '\n' ' ')(again: ./dev pytorch PART...)"
    exit 1
}
