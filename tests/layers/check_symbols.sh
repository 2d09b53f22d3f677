#!/usr/bin/env bash
# The external symbols of the libraries must begin with tide_, so that they cannot clash with symbols of the program that
# links them: check_symbols.sh NM ARCHIVE...
set -u
nm=$1
shift
failures=0
for archive in "$@"; do
    symbols=$("$nm" -g --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $2, $3 }')
    if [ -z "$symbols" ]; then
        echo "symbols: $archive defines none, so nothing was checked" >&2
        failures=$((failures + 1))
        continue
    fi
    # The weak ones come with NVTX's headers, which put a copy into every program that uses them. The CUDA compiler adds
    # a registration for each object, with two underscores.
    while read -r kind name; do
        echo "symbols: $archive: $name ($kind) does not begin with tide_" >&2
        failures=$((failures + 1))
    done < <(grep -vE '^[A-Za-z] (tide_|__)|^[WV] (nvtx|InitializeInjectionNvtx)' <<<"$symbols")
done
[ "$failures" -eq 0 ]
