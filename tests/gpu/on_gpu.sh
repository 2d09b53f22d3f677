#!/usr/bin/env bash
# on_gpu.sh PROBE COMMAND...: runs the command if there is a GPU, else exits with 77 and prints why.
probe=$1
shift
"$probe" >&2 || exit 77
exec "$@"
