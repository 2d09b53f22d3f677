#!/usr/bin/env bash
# Reads the exported tables with DuckDB, pyarrow and Polars: run.sh TIDEMARK. It takes the environment of ./dev pytorch,
# $TIDEMARK_ENGINES; without it, the test is skipped.
set -eu
python=${TIDEMARK_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/tidemark/engines}/bin/python
if [ ! -x "$python" ]; then
    echo "skipped: $python is absent; ./dev pytorch makes this environment" >&2
    exit 77
fi
exec "$python" -B "$(dirname "$0")/test_engines.py" "$1"
