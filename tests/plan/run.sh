#!/usr/bin/env bash
# Changes of `tidemark plan` in programs of PyTorch: run.sh TIDEMARK PYTHON [--full]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
status=0
"$2" -B "$here/same_numbers.py" "$here/../../python" || status=1
python3 -B "$here/check_refusals.py" --tidemark "$1" --python "$2" || status=1
python3 -B "$here/pairs/run.py" --tidemark "$1" --python "$2" "${@:3}" || status=1
exit $status
