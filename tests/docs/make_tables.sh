#!/usr/bin/env bash
# Regenerates the tables of a page and compares them with the page: make_tables.sh [--update] PAGE TIDEMARK A table is
# between "<!-- made by: COMMAND -->" and "<!-- end -->". The COMMANDs of a page are bash and share a folder. In them,
# "pivot ROWS COLUMN BYTES" turns the first table of a CSV report into Markdown: a row for each distinct value of the
# columns ROWS (separated by commas), a column for each value of COLUMN, and BYTES in GiB in the cells. The fenced block
# after "<!-- output -->" is a terminal: its lines that begin with "$ " are commands, each followed by its output. After
# "<!-- sample -->" the numbers may differ, because they are times or depend on the machine; the words, rows and columns
# may not.
set -u
update=
if [ "${1:-}" = --update ]; then
    update=1
    shift
fi
[ $# -eq 2 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
page=$(realpath "$1")
program=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/work"
ln -s "$program" "$scratch/bin/tidemark"
export PATH="$scratch/bin:$PATH" LC_ALL=C OMP_NUM_THREADS=1 # one thread, so that other tests hardly disturb the times

pivot() {
    awk -F, -v rows="$1" -v column="$2" -v bytes="$3" '
        /^#/ { done = n > 0; next }
        done { next }
        !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; n_keys = split(rows, keys, ","); next }
        {
            key = ""
            for (i = 1; i <= n_keys; i++) key = key "| " $at[keys[i]] " "
            if (!(key in seen)) { seen[key] = 1; order[++n_rows] = key }
            if (!($at[column] in shown)) { shown[$at[column]] = 1; heads[++n_heads] = $at[column] }
            cell[key, $at[column]] = $at[bytes]
        }
        END {
            for (i = 1; i <= n_keys; i++) { line = line "| " keys[i] " "; under = under "|---" }
            for (i = 1; i <= n_heads; i++) { line = line "| " column " " heads[i] " "; under = under "|---:" }
            print line "|"
            print under "|"
            for (r = 1; r <= n_rows; r++) {
                line = order[r]
                for (i = 1; i <= n_heads; i++) {
                    value = cell[order[r], heads[i]]
                    line = line "| " (value == "" ? "-" : sprintf("%.2f GiB", value / 1073741824)) " "
                }
                print line "|"
            }
        }'
}
export -f pivot

# The compared part of a sample: its words, with every number as # and every run of spaces as one.
shape() {
    sed -E 's/[0-9]+([.,][0-9]+)*(e[+-]?[0-9]+)?/#/g; s/ +/ /g; s/ $//' "$1"
}

# Regenerates and prints the fenced block that follows the marker on stdin: make_block MARKER
make_block() {
    local line old=$scratch/old new=$scratch/new
    : >"$old"
    : >"$new"
    IFS= read -r line
    [ "$line" = '```' ] || { echo "$page: no block begins behind $1" >&2; return 1; }
    while IFS= read -r line && [ "$line" != '```' ]; do
        printf '%s\n' "$line" >>"$old"
        case "$line" in
        '$ '*)
            printf '%s\n' "$line" >>"$new"
            (cd "$scratch/work" && bash -o pipefail -c "${line#"$ "}" </dev/null) >>"$new" 2>&1 ||
                { echo "$page: $line" >&2; tail -n 5 "$new" >&2; return 1; }
            ;;
        esac
    done
    if [ -z "$update" ] && [ "$1" = '<!-- sample -->' ] && [ "$(shape "$old")" = "$(shape "$new")" ]; then
        new=$old
    fi
    printf '```\n'
    cat "$new"
    printf '```\n'
}

# Prints the page with regenerated tables.
make_page() {
    local inside= line command
    while IFS= read -r line; do
        if [ "$line" = '<!-- end -->' ]; then
            inside=
        fi
        [ -n "$inside" ] || printf '%s\n' "$line"
        case "$line" in
        '<!-- output -->' | '<!-- sample -->')
            make_block "$line" || return 1
            ;;
        '<!-- made by: '*' -->')
            inside=1
            command=${line#<!-- made by: }
            command=${command% -->}
            printf '\n'
            (cd "$scratch/work" && bash -o pipefail -c "$command" </dev/null) || return 1
            printf '\n'
            ;;
        esac
    done <"$page"
}

grep -qE '^<!-- (made by: |output -->|sample -->)' "$page" || { echo "$page: no tables found" >&2; exit 1; }
make_page >"$scratch/page" || { echo "$page: a table could not be made" >&2; exit 1; }
if [ -n "$update" ]; then
    cp "$scratch/page" "$page"
else
    diff -u --label "$page" --label "made now" "$page" "$scratch/page" >&2 ||
        { echo "$page differs from what is made now: $0 --update writes it anew" >&2; exit 1; }
fi
