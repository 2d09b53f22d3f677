# The installed formatters render the manual page without warnings at two widths.
tidemark --manual >tidemark.1
n_formatters=0
if command -v groff >/dev/null; then
    n_formatters=$((n_formatters + 1))
    for width in 60n 100n; do
        groff -man -Tutf8 -ww -z -rLL="$width" tidemark.1
    done
fi
if command -v mandoc >/dev/null; then
    n_formatters=$((n_formatters + 1))
    # The page has no date, so that equal sources give equal pages.
    mandoc -T lint -W warning tidemark.1 | grep -v 'missing date'
fi
if [ "$n_formatters" -eq 0 ]; then
    echo "neither groff nor mandoc is here" >&2
    exit 77
fi
exit 0
