#!/usr/bin/env bash
# run.sh [--seconds N] [--out FOLDER] [PART...] [-- OPTION...]: runs a carried build on this machine's GPU.
# Parts: kernels (beside their twins of the cpu), training (recorded results, every precision, out of memory), profile
# (2.7B and small in three precisions, and a table of their kernels; no PyTorch needed), memcheck, racecheck, initcheck
# (compute-sanitizer's, over the first two), and bench: steps beside PyTorch's, with the options after --
# (bench/pytorch/beside_pytorch.py --help). All but bench unless some are named. Two files, of profile the snapshots, and of bench a page go to FOLDER
# ($OUT if that is set, else report/ beside this file); the report is complete after each step. After N seconds no
# further step begins, and the running one is stopped. Exit status 0: all passed; 1: not; 77: there is no GPU.
set -u
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/gpu/report.sh
. "$here/tests/report.sh"
program=$here/tidemark
test_gpu=$here/tests/test_gpu
scripts=$here/tests
revision=$(cat "$here/revision" 2>/dev/null)
out=${OUT:-$here/report}
parts=()
options=()
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) deadline=$(($(date +%s) + ${2:?--seconds N})) && shift ;;
    --out) out=${2:?--out FOLDER} && shift ;;
    kernels | training | profile | memcheck | racecheck | initcheck | bench) parts+=("$1") ;;
    --)
        shift
        options=("$@")
        break
        ;;
    *)
        say "unknown part '$1': it is kernels, training, profile, memcheck, racecheck, initcheck or bench"
        exit 2
        ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=(kernels training profile memcheck racecheck initcheck)

"$here/tests/tide_gpu_probe" || exit 77
mkdir -p "$out" || exit 1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
report=$out/gpu-report.md
one_log=$out/gpu.log
: >"$one_log"

# If tidemark's own search finds no cuBLAS, python knows where PyTorch's libraries are.
library_of_python() {
    python3 - "$1" 2>/dev/null <<'PYTHON'
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

for part in "${parts[@]}"; do
    case $part in
    kernels)
        for name in $("$test_gpu" --list); do
            step "kernels $name" "$test_gpu" "$name"
        done
        ;;
    training) step "training" bash "$here/tests/training.sh" "$program" "$here/reference" ;;
    profile) profiles "$out" ;;
    bench)
        step "bench" python3 -B "$here/bench/pytorch/beside_pytorch.py" --device cuda --tidemark "$program" \
            -o "$out/bench.md" "${options[@]}"
        cat "$out/bench.md" 2>/dev/null
        ;;
    *) sanitize "$part" ;;
    esac
done
cat "$report"
[ "$failures" -eq 0 ]
