#!/usr/bin/env bash
# Compares lists and outputs in the pages with those of the program: check_lists.sh DOCS TIDEMARK
#   - the tables in cards.md have the names, bytes, workspaces, boards and stated peaks of `tidemark devices --cards`
#   - the row `categories` in snapshot-format.md has the names of a snapshot, in their order
#   - commands.md has a line for each command of `tidemark --help`
#   - the output of ./dev demo in README.md is that of its golden case
set -eu
docs=$(realpath "$1")
program=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failed=0

"$program" devices --cards --format csv --table cards |
    awk -F, 'NR > 1 { print $1, $2, $3 == "" ? "not measured" : $3, $4 }' >cards.program
awk -F'|' '/^\| card \|/ { inside = 1 } inside && !/^\|/ { exit } inside && /^\| `/ {
    gsub(/[ ,]/, "", $3); gsub(/,/, "", $4); gsub(/^ | $/, "", $4); gsub(/[ ,]/, "", $6)
    split($2, name, "`"); print name[2], $3, $4, $6 }' "$docs/reference/cards.md" >cards.page
if ! diff cards.page cards.program >cards.diff; then
    echo "docs/reference/cards.md: its table of cards (<) is not that of data/cards.def (>):" >&2
    cat cards.diff >&2
    failed=1
fi

"$program" devices --cards --format csv --table boards |
    awk -F, 'NR > 1 { for (i = 3; i <= 8; i++) if ($i == "") $i = "-"; print $1, $3, $4, $5, $6, $7, $8 }' >boards.program
awk -F'|' '/^\| board \|/ { inside = 1 } inside && !/^\|/ { exit } inside && /^\| `/ {
    gsub(/[ ,`]/, ""); print $2, $3, $4, $5, $6, $7, $8 }' "$docs/reference/cards.md" >boards.page
if ! diff boards.page boards.program >boards.diff; then
    echo "docs/reference/cards.md: its table of boards (<) is not that of data/cards.def (>):" >&2
    cat boards.diff >&2
    failed=1
fi

"$program" devices --cards --format csv --table stated_peaks |
    awk -F, 'NR > 1 { for (i = 2; i <= 5; i++) if ($i == "") $i = "-"; print $1, $2, $3, $4, $5 }' >peaks.program
awk -F'|' '/^\| card, TFLOP/ { inside = 1 } inside && !/^\|/ { exit } inside && /^\| `/ {
    gsub(/[ ,`]/, ""); print $2, $3, $4, $5, $6 }' "$docs/reference/cards.md" >peaks.page
if ! diff peaks.page peaks.program >peaks.diff; then
    echo "docs/reference/cards.md: its table of stated peaks (<) is not that of data/peaks.def (>):" >&2
    cat peaks.diff >&2
    failed=1
fi

"$program" profile --size small --layers 1 --device virtual --steps 1 --warmup 0 -o run.json.gz >/dev/null 2>&1
gzip -dc run.json.gz | tr -d '\n' | sed -E 's/.*"categories": *\[([^]]*)\].*/\1/; s/[" ]//g; s/,/, /g' >categories.program
sed -nE 's/^\| `categories` \| names of the numbers in every `category`: `([^`]*)`.*/\1/p' \
    "$docs/reference/snapshot-format.md" | tr -d '\n' >categories.page
if ! cmp -s categories.page categories.program; then
    echo "docs/reference/snapshot-format.md has the categories '$(cat categories.page)', the program '$(cat categories.program)'" >&2
    failed=1
fi

"$program" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' >commands.program
while read -r command; do
    grep -qE "^([^#]*; )?tidemark $command( |\$)" "$docs/guide/commands.md" ||
        { echo "docs/guide/commands.md has no line for tidemark $command" >&2 && failed=1; }
done <commands.program

# check_outputs.py compares the other outputs of README.md, which need PyTorch.
awk '$0 == "$ ./dev demo" { inside = 1; next } /^```/ { inside = 0 } inside' "$docs/../README.md" >output.page
[ -s output.page ] || { echo "README.md has no output of ./dev demo" >&2 && failed=1; }
while IFS= read -r line; do
    grep -qxF -- "$line" "$docs/../tests/golden/cases/demo.stdout" ||
        { echo "README.md: not in tests/golden/cases/demo.stdout: $line" >&2 && failed=1; }
done <output.page
echo "$(wc -l <cards.page) cards and $(tr ',' '\n' <categories.page | wc -w) categories are as the pages say"
[ -s cards.page ] && [ -s boards.page ] && [ -s peaks.page ] && [ -s categories.page ] && [ -s commands.program ] && [ "$failed" -eq 0 ]
