#!/usr/bin/env bash
# Checks a wheel in environments with nothing else: run.sh WHEEL WORK [PYTHON] PYTHON: an interpreter with PyTorch.
# Without it, only a program that calls the driver itself is recorded.
set -eu
wheel=$(realpath "$1")
work=$2
with_torch=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"

# glibc 2.28 is that of RHEL 8. A function of a newer one would exclude it, and Ubuntu 20.04.
minor=$(basename "$wheel" | sed -nE 's/.*manylinux_2_([0-9]+)_.*/\1/p')
[ -n "$minor" ] && [ "$minor" -le 28 ] || fail "$(basename "$wheel") is not for glibc 2.28"
bytes=$(stat -c %s "$wheel")
[ "$bytes" -le 12000000 ] || fail "$(basename "$wheel") has $bytes bytes, more than 12 MB"
passed "it is for systems with glibc 2.$minor or newer, and has $bytes bytes"

rm -rf "$work"
mkdir -p "$work/program"
empty=$work/empty
python3 -m venv "$empty"
"$empty/bin/pip" install -q --no-index --no-deps "$wheel" || fail "pip cannot install $wheel"
cd "$work/program"
installed=$(within "$empty" python -c 'import os, tidemark; print(os.path.dirname(tidemark.__file__))')
passed "it installs into an empty environment"

# Nothing is looked up outside of the C library and the wheel.
needs_only_glibc "$installed" readelf
ldd "$installed/bin/tidemark" >ldd.txt
has ldd.txt "libcjson.so.1 => $installed/" "cJSON is not the wheel's"
[ -s "$installed/share/doc/tidemark/licenses/libcjson1.txt" ] || fail "the licence of cJSON is missing"
[ -s "$installed/share/tidemark/viewer.html" ] || fail "the page is missing"
[ -s "$empty/share/man/man1/tidemark.1" ] || fail "the manual page is missing"
passed "its objects need nothing but the C library; the page and the manual are there"

within "$empty" tidemark --version >version.txt || fail "the program does not run"
within "$empty" python -m tidemark --version >again.txt || fail "python -m tidemark does not run"
cmp -s version.txt again.txt || fail "two versions: $(cat version.txt again.txt)"
status=0
within "$empty" python -m tidemark summary none.json.gz 2>/dev/null || status=$?
[ "$status" -eq 1 ] || fail "python -m tidemark gives status $status for a file that is not there, and not 1"
for command in tidemark-gpu "python -m tidemark_gpu"; do
    within "$empty" $command --version | cmp -s version.txt - || fail "$command does not run"
done
passed "tidemark, tidemark-gpu and python -m tidemark are the same program"

# A run of tidemark's own model, where libunwind is damaged: glibc walks the stacks in its place.
mkdir damaged
: >damaged/libunwind.so.8
loader=libs within "$empty" env LD_LIBRARY_PATH="$PWD/damaged" tidemark profile --size small --device virtual --layers 2 --context 64 -o own.json.gz >profile.txt 2>&1 ||
    fail "profile: $(grep '^tidemark' profile.txt)"
has profile.txt 'calling init: .*libgcc_s.so.1' "glibc's backtrace() was not asked"
! grep 'call stacks' profile.txt || fail "a stack is missing"
within "$empty" tidemark summary own.json.gz >summary.txt || fail "summary cannot read own.json.gz"
has summary.txt 'tide_gradient_alloc (.*linear.c:' "the stacks have no names and lines"
within "$empty" tidemark explain own.json.gz >explain.txt || fail "explain cannot read own.json.gz"
has explain.txt '^The peak, ' "explain has no answer"
within "$empty" tidemark view own.json.gz -o own.html >/dev/null || fail "view cannot read own.json.gz"
has own.html '</html>' "view wrote no page"
passed "profile, summary, explain and view work, with call stacks, in an environment without PyTorch"

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
