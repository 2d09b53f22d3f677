#!/usr/bin/env bash
# Runs a check in an environment that has PyTorch and packages of the package index: run.sh ENVIRONMENT PYTHON PACKAGES CHECK...
# ENVIRONMENT is made in the folder of the build, and kept; PYTHON has PyTorch. CHECK is run with {python} replaced.
set -eu
environment=$1 python=$2 packages=$3
shift 3
if ! [ -e "$environment/complete" ]; then
    rm -rf "$environment"
    "$python" -m venv "$environment"
    "$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' \
        >"$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/pytorch.pth"
    # shellcheck disable=SC2086 # a list of names
    "$environment/bin/pip" install -q $packages >"$environment/pip.txt" 2>&1 || {
        echo "SKIPPED: $packages could not be installed: $(tail -n 1 "$environment/pip.txt")"
        exit 0
    }
    touch "$environment/complete"
fi
exec "${@//\{python\}/$environment/bin/python}"
