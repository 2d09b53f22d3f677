#!/usr/bin/env bash
# check_lost_errors.sh SOURCE: each error that requires a new process according to the toolkit's header is in the table
# of SOURCE.
set -euo pipefail
source=$1
header=
for folder in "${CUDA_HOME:-/usr/local/cuda}" /usr/local/cuda; do
    [ -r "$folder/include/driver_types.h" ] && header=$folder/include/driver_types.h
done
[ -n "$header" ] || { echo "no CUDA toolkit here: no driver_types.h to read"; exit 77; }

# A comment that states this, possibly over several lines, and then its error: "cudaErrorX = 123".
errors=$(awk '/\/\*\*/ { comment = "" }
    { line = $0; sub(/^ *\*?/, "", line); comment = comment " " line }
    match($0, /cudaError[A-Za-z0-9]+ *= *[0-9]+/) {
        split(substr($0, RSTART, RLENGTH), part, / *= */)
        gsub(/ +/, " ", comment)
        if (comment ~ /must be terminated/) print part[1], part[2]
        comment = ""
    }' "$header")
[ "$(wc -l <<<"$errors")" -ge 10 ] || { echo "$header does not read as expected: $errors"; exit 1; }

status=0
while read -r name number; do
    if ! grep -Eq "\{$number, " "$source"; then
        echo "$name ($number) ends the process, says $header, and is not in $source"
        status=1
    fi
done <<<"$errors"
exit $status
