#!/usr/bin/env bash
# How long a new user waits for the first answer: first_answer.sh WHEEL WORK PYTHON
# In a new environment with PyTorch and an empty home, `pip install` of the wheel and `tidemark run` of docs/examples/train.py on a
# virtual card are timed, each once: nothing is cached. The times are printed beside the load of the machine, and not judged: only the
# answer is.
set -eu
wheel=$(realpath "$1")
work=$2 with_torch=$3
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"
rm -rf "$work"
mkdir -p "$work/program"
cd "$work/program"
"$with_torch" -m venv "$work/new"
"$with_torch" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' \
    >"$("$work/new/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/pytorch.pth"
cp "$here/../../docs/examples/train.py" .
seconds() { date +%s.%N; }
begin=$(seconds)
"$work/new/bin/pip" install -q --no-index --no-deps "$wheel"
installed=$(seconds)
load=$(cut -d' ' -f1 /proc/loadavg)
TIMEFORMAT='%U %S'
{ time within "$work/new" tidemark run --device virtual:h100-80 -- python train.py >answer.txt 2>&1 || fail "$(cat answer.txt)"; } 2>times.txt
end=$(seconds)
has answer.txt 'it fits virtual:h100-80' "no answer"
took() { echo "$1 $2" | awk '{printf "%.1f", $2 - $1}'; }
answer=$(took "$installed" "$end")
words="the first answer took $answer s and $(awk '{printf "%.1f", $1 + $2}' times.txt) s of processor time, after $(took "$begin" "$installed") s of pip install"
passed "$words, at a load of $load on $(nproc) cores"
printf '%d passed, 0 failed\n' "$n_passed"
