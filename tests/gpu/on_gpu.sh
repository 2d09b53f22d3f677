#!/usr/bin/env bash
# on_gpu.sh PROBE COMMAND...: runs the command where there is a GPU, else exits with 77 and says why.
probe=$1
shift
"$probe" >&2 || exit 77
exec "$@"
