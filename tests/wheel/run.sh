#!/usr/bin/env bash
# Checks a wheel in environments with nothing else: run.sh WHEEL WORK [PYTHON] PYTHON: an interpreter with PyTorch.
# Without it, only a program that calls the driver itself is recorded.
set -eu
wheel=$(realpath "$1")
work=$2
with_torch=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
n_passed=0
export LC_ALL=C

fail() {
    printf 'wheel: %s\n' "$1" >&2
    exit 1
}

passed() {
    n_passed=$((n_passed + 1))
    printf 'wheel: %s\n' "$1"
}

# Runs a command in an environment, as if nothing else were installed.
within() { # ENVIRONMENT COMMAND...
    env -i PATH="$1/bin:/usr/bin:/bin" HOME="$work" LC_ALL=C ${loader:+LD_DEBUG=$loader} "${@:2}"
}

has() { # FILE WORDS WHAT
    grep -q -- "$2" "$1" || fail "$3: $(tail -n 20 "$1")"
}

# glibc 2.34 is that of RHEL 9, which many machines with GPUs have. A new function of a newer one would exclude them.
minor=$(basename "$wheel" | sed -nE 's/.*manylinux_2_([0-9]+)_.*/\1/p')
[ -n "$minor" ] && [ "$minor" -le 34 ] || fail "$(basename "$wheel") is not for glibc 2.34"
passed "it is for systems with glibc 2.$minor or newer"

rm -rf "$work"
mkdir -p "$work/program"
empty=$work/empty
python3 -m venv "$empty"
"$empty/bin/pip" install -q --no-index --no-deps "$wheel" || fail "pip cannot install $wheel"
cd "$work/program"
installed=$(within "$empty" python -c 'import os, tidemark; print(os.path.dirname(tidemark.__file__))')
passed "it installs into an empty environment"

# Nothing is looked up outside of the C library and the wheel; nothing is found in the folder of the build.
for object in "$installed"/bin/tidemark "$installed"/lib/tidemark/*.so*; do
    ldd "$object" >ldd.txt 2>&1 || fail "$object: $(cat ldd.txt)"
    ! grep -v -E "linux-vdso|ld-linux|/lib/x86_64-linux-gnu/lib(c|m)\.so\.6|$installed/" ldd.txt >others.txt ||
        fail "$object needs more than the C library: $(cat others.txt)"
done
[ -s "$installed/share/doc/tidemark/licenses/libunwind8.txt" ] || fail "the licence of libunwind is missing"
passed "its objects need nothing but the C library"

within "$empty" tidemark --version >version.txt || fail "the program does not run"
within "$empty" python -m tidemark --version >again.txt || fail "python -m tidemark does not run"
cmp -s version.txt again.txt || fail "two versions: $(cat version.txt again.txt)"
status=0
within "$empty" python -m tidemark summary none.json.gz 2>/dev/null || status=$?
[ "$status" -eq 1 ] || fail "python -m tidemark gives status $status for a file that is not there, and not 1"
passed "tidemark and python -m tidemark are the same program"

# A run of tidemark's own model: stacks come from the libunwind of the wheel.
loader=libs within "$empty" tidemark profile --size small --device virtual --layers 2 --context 64 -o own.json.gz >profile.txt 2>&1 ||
    fail "profile: $(grep '^tidemark' profile.txt)"
has profile.txt "calling init: $installed/.*libunwind.so.8" "libunwind is not the wheel's"
within "$empty" tidemark summary own.json.gz >summary.txt || fail "summary cannot read own.json.gz"
has summary.txt 'tide_gradient_alloc (.*linear.c:' "the stacks have no names and lines"
passed "profile and summary work, with call stacks"

# A program without PyTorch sees the card.
within "$empty" tidemark run --device virtual:h100-80 -- python "$here/program.py" >run.txt 2>&1 || fail "$(cat run.txt)"
has run.txt '^84929347584 bytes, known as tidemark$' "the program does not see the card"
passed "a program that calls the driver itself runs on the virtual card"

if [ -n "$with_torch" ]; then
    "$with_torch" -m venv "$work/torch"
    site=$("$work/torch/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    "$with_torch" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' >"$site/pytorch.pth"
    "$work/torch/bin/pip" install -q --no-index --no-deps "$wheel"
    within "$work/torch" tidemark run --device virtual:h100-80 -o train.json.gz -- python "$here/train.py" >train.txt 2>&1 ||
        fail "$(cat train.txt)"
    has train.txt 'it fits virtual:h100-80' "no answer"
    within "$work/torch" python -m tidemark summary train.json.gz >summary.txt
    has summary.txt ' 12.00 MiB .*cache.k' "the program's own category is not in the summary"
    has summary.txt 'train.py:' "no call stack"
    zcat train.json.gz >train.json
    has train.json '"named by the program"' "its scope is not in the snapshot"
    has train.txt '^snapshot True$' "it wrote no snapshot itself"
    within "$work/torch" tidemark summary now.json.gz >summary.txt
    has summary.txt ' 12.00 MiB .*cache.k' "the snapshot that it wrote itself does not hold its cache"
    passed "a program with PyTorch is recorded, with its own steps and categories"
    if "$work/torch/bin/pip" install -q ipython >pip.txt 2>&1; then
        within "$work/torch" python -B "$here/../python/test_jupyter.py" >jupyter.txt 2>&1 || fail "$(cat jupyter.txt)"
        passed "cells of a notebook are recorded"
    else
        printf 'wheel: SKIPPED: cells of a notebook: IPython could not be installed: %s\n' "$(tail -n 1 pip.txt)"
    fi
else
    printf 'wheel: SKIPPED: a program with PyTorch: no environment with it was named\n'
fi
printf '%d passed, 0 failed\n' "$n_passed"
