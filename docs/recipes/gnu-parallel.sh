#!/usr/bin/env bash
# Runs a grid with GNU parallel, one process a cell:
#     gnu-parallel.sh FOLDER [OPTION OF tidemark sweep...] [-- COMMAND...]
# Each cell writes a file of its own in FOLDER. A cell whose process was killed is tried again, three times in all; the
# same line again runs what is missing still. Then:
#     tidemark sweep --merge FOLDER --format csv
# With --sshloginfile HOSTS in the line of parallel the cells run on these machines, which share FOLDER.
set -euo pipefail
folder=$1
shift
mkdir -p "$folder"
tidemark sweep --list "$@" | cut -f 1 |
    parallel -q -I @cell@ -j "${JOBS:-100%}" --retries 3 \
        tidemark sweep --cell @cell@ -o "$folder/@cell@.jsonl" --resume --retry "$@" >/dev/null
