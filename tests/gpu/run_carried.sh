#!/usr/bin/env bash
# run.sh [--seconds N] [--limit PART=N]... [--out FOLDER] [--rehearsal] [PART...] [-- OPTION...]: runs a carried build
# on this machine's GPU. Without parts: the half hour, smoke, zoo, profile, calibrate, sanitizers and bench, in this
# order; part.sh describes each. Other parts run if they are named: kernels, training, memcheck, racecheck, initcheck.
# OPTIONs are of bench (model/bench/pytorch/beside_pytorch.py --help).
#
# Each part has its own time (--limit changes it, in seconds), after which it is stopped and the next one begins. After
# --seconds N no further part begins, and the running one is stopped. Each part leaves FOLDER/PART.md, with command,
# versions, clocks, the wanted numbers beside the measured ones and every sample; FOLDER/summary.md has all of them at a
# glance, and is complete after each part. FOLDER is $OUT if that is set, else report/ beside this file.
# TIDEMARK_PYTORCH_PYTHON names a Python with PyTorch, TIDEMARK_GPU_CARD the virtual card that represents the GPU
# (`tidemark devices --cards`). A rehearsal runs tiny models in place of the real ones, so that an emulated device can
# do it; nothing of it counts as measured. Exit status 0: every part passed; 1: one did not, or could not run; 2: wrong
# usage; 77: there is no GPU.
set -u
here=$(dirname "$(realpath "$0")")
program=$here/bin/tidemark
declare -A limits=([smoke]=120 [zoo]=420 [profile]=300 [calibrate]=120 [sanitizers]=360 [bench]=480
    [kernels]=600 [training]=600 [memcheck]=600 [racecheck]=600 [initcheck]=600)
half_hour=(smoke zoo profile calibrate sanitizers bench) # 1800 s
out=${OUT:-$here/report}
deadline=0
parts=()
options=()
rehearsal=

say() { printf '%s\n' "$*" >&2; }

# is_part NAME: whether the part exists; else it lists the parts.
is_part() {
    [ -n "$1" ] && [ -n "${limits[$1]:-}" ] && return 0
    say "run.sh: unknown part '$1': it is ${half_hour[*]}, or kernels, training, memcheck, racecheck or initcheck"
    return 1
}

# is_number OPTION TEXT: whether the text is a number of seconds; else it reports that.
is_number() {
    [[ $2 =~ ^[0-9]{1,6}$ ]] && return 0
    say "run.sh: $1 needs a number of seconds, not '$2'"
    return 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --seconds)
        is_number --seconds "${2:-}" || exit 2
        deadline=$(($(date +%s) + 10#$2))
        shift
        ;;
    --limit)
        name=${2:-}
        if ! is_part "${name%%=*}" || ! is_number "--limit PART=N" "${name#*=}"; then exit 2; fi
        limits[${name%%=*}]=$((10#${name#*=}))
        shift
        ;;
    --out) out=${2:?--out FOLDER} && shift ;;
    --rehearsal) rehearsal=1 ;;
    --)
        shift
        options=("$@")
        break
        ;;
    *)
        is_part "$1" || exit 2
        parts+=("$1")
        ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=("${half_hour[@]}")

"$here/tests/tide_gpu_probe" || exit 77
mkdir -p "$out" || exit 1
out=$(realpath "$out")
export TIDEMARK_HALF_HOUR_REHEARSAL=$rehearsal

# If tidemark's own search finds no cuBLAS, python knows where PyTorch's libraries are.
library_of_python() {
    "${TIDEMARK_PYTORCH_PYTHON:-python3}" - "$1" 2>/dev/null <<'PYTHON'
import glob
import sys

for folder in sys.path:
    for file in sorted(glob.glob(f"{folder}/nvidia/*/lib/{sys.argv[1]}.so.1[23]"), reverse=True):
        print(file)
        sys.exit()
PYTHON
}
if "$program" devices 2>/dev/null | grep -Eq '^  cuda:0 +missing .*none was found'; then
    TIDEMARK_CUBLAS=$(library_of_python libcublas)
    export TIDEMARK_CUBLAS
    say "gpu: cuBLAS: ${TIDEMARK_CUBLAS:-nowhere}"
fi
if [ -z "${TIDEMARK_CUPTI:-}" ]; then
    cupti=$(library_of_python libcupti)
    [ -z "$cupti" ] || export TIDEMARK_CUPTI="$cupti"
fi

# wanted ARGUMENT...: what wanted.py prints; without a python3, or if it fails, that nothing was measured, and why.
wanted() {
    timeout 60 python3 -B "$here/tests/gpu/wanted.py" "$@" 2>"$out/wanted.err" && rm -f "$out/wanted.err" && return
    printf '\n## Wanted numbers\n\nnot measured: python3 could not read the files of this part: %s\n\n## Raw samples\n\nnone were read\n' \
        "$(tail -n 1 "$out/wanted.err")"
}

rows=()
state_of() { # STATUS of part.sh
    case $1 in
    0) echo passed ;;
    3) echo "not run" ;;
    4 | 124 | 137) echo "ran out of time" ;;
    *) echo failed ;;
    esac
}

write_summary() {
    {
        echo "# The half hour on a card"
        echo
        [ -z "$rehearsal" ] || printf 'This was a rehearsal with tiny models: none of its times is a measurement.\n\n'
        echo "| part | result | s | of | page |"
        echo "|---|---|---|---|---|"
        printf '%s\n' "${rows[@]}"
        wanted summary "$out"
    } >"$out/summary.md"
}

# run_part NAME: one part within its time. Its page is finished here, so that a part which hangs or is killed has one
# also.
run_part() {
    local limit=${limits[$1]} begin status=0 page=$out/$1.md
    begin=$(date +%s)
    if [ "$deadline" -gt 0 ] && [ $((deadline - begin)) -lt "$limit" ]; then
        limit=$((deadline - begin))
    fi
    rm -f "$page"
    if [ "$limit" -lt 5 ]; then
        status=4
    else
        say "== $1, at most $limit s"
        # The part stops its own steps when its time is up. One that hangs between two steps is ended 10 s later.
        timeout --kill-after=5 $((limit + 10)) bash "$here/tests/gpu/part.sh" "$1" "$limit" "$here" "$out" \
            ${options[@]+"${options[@]}"} || status=$?
    fi
    if [ ! -s "$page" ]; then
        printf '# %s\n\n' "$1" >"$page"
        for heading in Command Versions Clocks Steps; do
            printf '## %s\n\nnone: the part did not begin\n\n' "$heading" >>"$page"
        done
    fi
    sed -i "s/^Result: .*/Result: $(state_of $status)/" "$page"
    wanted part "$out" "$1" >>"$page"
    rows+=("| $1 | $(state_of $status) | $(($(date +%s) - begin)) | $limit | [$1.md]($1.md) |")
    say "== $1: $(state_of $status)"
    [ "$status" -eq 0 ] || failures=$((failures + 1))
    write_summary
}

failures=0
for part in "${parts[@]}"; do
    run_part "$part"
done
cat "$out/summary.md"
[ "$failures" -eq 0 ]
