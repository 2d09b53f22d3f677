#!/usr/bin/env bash
# Checks what a wheel brings for other tools, in an environment with these and without PyTorch: integrations.sh WHEEL WORK
# The pytest plugin by its entry point, jobs of continuous integration, and the server for agents with the wheel's extra.
set -eu
wheel=$(realpath "$1")
work=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"
rm -rf "$work"
mkdir -p "$work"
cd "$work"

python3 -m venv env
if ! env/bin/pip install -q "$wheel[mcp]" pytest pytest-xdist PyYAML >pip.txt 2>&1; then
    skipped "the pytest plugin, jobs and the server for agents: packages could not be installed: $(tail -n 1 pip.txt)"
    exit
fi
[ -e "$(echo env/lib/python3*/site-packages/mcp)" ] || fail "the extra mcp does not install the package mcp"

# The tests run beside each other.
start() { # TEST
    within "$work/env" python -B "$here/../python/test_$1.py" --installed >"$1.txt" 2>&1 &
}
finish() { # TEST PROCESS WHAT
    wait "$2" || fail "$3: $(cat "$1.txt")"
    ! grep -q 'skipped' "$1.txt" || fail "$3: a test was skipped: $(cat "$1.txt")"
    passed "$3: $(sed -n 's/^Ran \([0-9]* tests\).*/\1/p' "$1.txt")"
}
start pytest_plugin
plugin=$!
start ci
ci=$!
start mcp
mcp=$!
finish ci $ci "python -m tidemark.ci and the steps of the Action run with the wheel"
finish mcp $mcp "the server for agents runs with the wheel's extra, mcp $(env/bin/python -c 'import importlib.metadata as m; print(m.version("mcp"))')"
finish pytest_plugin $plugin "pytest finds the plugin of the wheel"
printf '%d passed, 0 failed\n' "$n_passed"
