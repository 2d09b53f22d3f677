#!/usr/bin/env bash
# Plants one violation at a time and expects check_sources.sh to find it: check_sources_selftest.sh CHECK
set -eu
check=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

expect() { # VERDICT WHAT
    verdict=0
    bash "$check" "$scratch" 2>"$scratch/stderr" || verdict=$?
    if [ "$1" = clean ] && [ "$verdict" -ne 0 ]; then
        echo "$2: a clean tree was refused: $(cat "$scratch/stderr")" >&2
        exit 1
    fi
    if [ "$1" = refused ] && [ "$verdict" -eq 0 ]; then
        echo "$2: the violation was not found" >&2
        exit 1
    fi
}

plant() { # FILE TEXT
    mkdir -p "$scratch/$(dirname "$1")"
    printf '%b\n' "$2" >"$scratch/$1"
    expect refused "$1"
    rm "$scratch/$1"
    expect clean "after $1"
}

mkdir -p "$scratch/common" "$scratch/allocator" "$scratch/snapshot"
printf '#include "common/status.h"\n#include <stdio.h>\nsnprintf(text, 2, "x");\n' >"$scratch/allocator/cache.c"
expect clean "a clean tree"
plant snapshot/writer.c '#include "allocator/cache.h"'
plant common/status.c '#include "common/status.h"\n#  include "model/ops.h"'
plant allocator/cuda.cu '#include "snapshot/snapshot.h"'
plant allocator/bad.c 'void f(void) { exit(1); }'
plant snapshot/bad.c 'void f(void) { fprintf(stderr, "x"); }'
plant model/bad.c 'void f(void) { printf("x"); }'
plant viewer/src/app.js 'element.innerHTML = name;'
plant common/long.c "$(yes '\n' | head -n 850 | tr -d '\n')"
