#!/usr/bin/env bash
# Ours beside another distribution with its names, and pipx: names.sh WHEEL WORK
set -eu
wheel=$(realpath "$1")
work=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"
rm -rf "$work"
mkdir -p "$work/index"
cd "$work"

both=$work/both
python3 -m venv "$both"
python3 -B "$here/other.py" .
"$both/bin/pip" install -q --no-index --no-deps "$wheel"
"$both/bin/pip" install -q --no-index --no-deps tidemark-9.9-py3-none-any.whl || fail "pip refuses the other distribution"
within "$both" tidemark >other.txt
has other.txt '^another program$' "the distribution installed last does not have the command"
for command in "tidemark-gpu --version" "python -m tidemark --version"; do
    status=0
    within "$both" $command >both.txt 2>&1 || status=$?
    [ "$status" -eq 1 ] || fail "$command: status $status beside another package tidemark, and not 1: $(cat both.txt)"
    has both.txt 'not that of tidemark-gpu, but of the distribution tidemark 9.9: install tidemark-gpu in an environment' "$command"
done
"$both/bin/pip" uninstall -q -y tidemark
"$both/bin/pip" install -q --no-index --no-deps --force-reinstall "$wheel"
within "$both" python -m tidemark --version >both.txt || fail "the cure that it names does not help"
passed "beside another distribution with a package tidemark, it says whose that is; the cure helps"

cp "$wheel" index
python3 -m venv pipx
if pipx/bin/pip install -q pipx >pip.txt 2>&1; then
    bare_program >bare.py
    export PIPX_HOME="$work/pipx-home" PIPX_BIN_DIR="$work/pipx-bin"
    try_pipx() { # OPTION OF PIPX...
        "$work/pipx/bin/pipx" run "$@" tidemark-gpu run --device virtual:h100-80 -- python3 bare.py >pipx.txt 2>&1 || fail "pipx run $*: $(cat pipx.txt)"
        has pipx.txt '^84929347584$' "pipx run $* has no card"
    }
    try_pipx --spec "$wheel"
    try_pipx --no-cache --pip-args="--no-index --find-links $work/index"
    passed "pipx run tidemark-gpu run works from a wheel and from a folder of wheels"
else
    skipped "pipx: it could not be installed: $(tail -n 1 pip.txt)"
fi
printf '%d passed, 0 failed\n' "$n_passed"
