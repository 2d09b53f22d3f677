#!/usr/bin/env bash
# Changes of `tidemark plan` in programs of PyTorch: run.sh WHAT TIDEMARK PYTHON [--full]. WHAT is pairs, which compares
# memory with that of the same changes made by hand, or refusals, which checks numbers and what is refused.
set -eu
what=$1 tidemark=$2 python=$3
here=$(cd "$(dirname "$0")" && pwd)
case "$what" in
pairs)
    python3 -B "$here/pairs/run.py" --tidemark "$tidemark" --python "$python" "${@:4}"
    ;;
refusals)
    status=0
    "$python" -B "$here/same_numbers.py" "$here/../../python" || status=1
    python3 -B "$here/check_refusals.py" --tidemark "$tidemark" --python "$python" || status=1
    exit $status
    ;;
*)
    echo "plan: $what is neither pairs nor refusals" >&2
    exit 2
    ;;
esac
