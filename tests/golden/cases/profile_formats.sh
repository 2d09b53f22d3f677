# The command prints a list of runs as a table for programs, and a single run in each format.
run() { tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 "$@"; }
run --context 64,128 --format csv
run --format markdown
run --format json | jq -c '(.tables | keys), (.sentences | keys), .figures'
