#!/usr/bin/env bash
# The check must refuse a library that needs a newer glibc, and a file that it cannot read: check_glibc_selftest.sh CHECK CC NM
set -eu
check=$1 cc=$2 nm=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# No malloc function is older than 2.2; one library is checked against two limits.
printf '#include <stdlib.h>\nvoid *get(void);\nvoid *get(void) { return malloc(8); }\n' >library.c
"$cc" -shared -fPIC library.c -o library.so
bash "$check" "$nm" 34 library.so || {
    echo "a library for every glibc was refused" >&2
    exit 1
}
if bash "$check" "$nm" 1 library.so 2>/dev/null; then
    echo "a library that needs a newer glibc was accepted" >&2
    exit 1
fi
if bash "$check" "$nm" 34 library.c 2>/dev/null; then
    echo "a file without symbols was accepted" >&2
    exit 1
fi
