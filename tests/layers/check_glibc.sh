#!/usr/bin/env bash
# The program and what it preloads run with glibc 2.34, that of RHEL 9, which many machines with GPUs have. A function
# with a newer version would exclude these machines, and only the wheel would show it: check_glibc.sh NM LIMIT FILE...
set -u
nm=$1
limit=$2
shift 2
failures=0
for file in "$@"; do
    needed=$("$nm" -D --undefined-only "$file" 2>/dev/null | grep -E '@GLIBC_2\.[0-9]+')
    if [ -z "$needed" ]; then
        echo "glibc: $file needs no symbol of glibc, so nothing was checked" >&2
        failures=$((failures + 1))
        continue
    fi
    while read -r symbol; do
        minor=${symbol##*@GLIBC_2.}
        if [ "${minor%%.*}" -gt "$limit" ]; then
            echo "glibc: $file needs ${symbol##* }, which glibc 2.$limit does not have" >&2
            failures=$((failures + 1))
        fi
    done <<<"$needed"
done
[ "$failures" -eq 0 ]
