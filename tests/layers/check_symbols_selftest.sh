#!/usr/bin/env bash
# The check must refuse an archive with a foreign symbol and an empty archive: check_symbols_selftest.sh CHECK CC AR NM
set -eu
check=$1 cc=$2 ar=$3 nm=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

archive_of() { # NAME CODE
    printf '%s\n' "$2" >"$1.c"
    "$cc" -c "$1.c" -o "$1.o"
    "$ar" rcs "$1.a" "$1.o"
}

archive_of good 'int tide_x(void); int tide_x(void) { return 0; } static int own(void) { return 1; } int tide_y(void); int tide_y(void) { return own(); }'
archive_of function 'int open_all(void); int open_all(void) { return 0; }'
archive_of table 'extern const int TIDE_TABLE[2]; const int TIDE_TABLE[2] = {1, 2};'
archive_of empty 'extern int tide_declared;'

bash "$check" "$nm" good.a || {
    echo "a good archive was refused" >&2
    exit 1
}
for name in function table empty; do
    if bash "$check" "$nm" good.a "$name.a" 2>/dev/null; then
        echo "$name: the violation was not found" >&2
        exit 1
    fi
done
