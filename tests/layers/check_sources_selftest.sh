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

write() { # FILE TEXT
    mkdir -p "$scratch/$(dirname "$1")"
    printf '%b\n' "$2" >"$scratch/$1"
}

# With MESSAGE, the refusal must contain it, so that another rule cannot hide a broken one.
plant() { # FILE TEXT [MESSAGE]
    saved=''
    [ ! -e "$scratch/$1" ] || saved=$(cat "$scratch/$1")
    write "$1" "$2"
    expect refused "$1"
    if [ $# -gt 2 ] && ! grep -q "$3" "$scratch/stderr"; then
        echo "$1: refused, but not for '$3': $(cat "$scratch/stderr")" >&2
        exit 1
    fi
    rm "$scratch/$1"
    [ -z "$saved" ] || printf '%s\n' "$saved" >"$scratch/$1"
}

lines() { # COUNT TEXT
    yes "$2" | head -n "$1"
}

# This tree keeps every rule and has a near miss for each, which a sloppy rule would refuse.
write allocator/cache.c '#include "allocator/cache_internal.h"
#include "common/lock_friend.h"
#include "recorder/recorder_friend.h"
#include "common/status.h"
#include <stdio.h>
snprintf(text, 2, "x");'
write allocator/cache.h '#include "common/status.h"'
write allocator/cache_internal.h ''
write common/status.h ''
write common/lock_friend.h ''
write recorder/recorder_friend.h ''
write recorder/log.c '#include "common/lock_friend.h"'
write replay/lane.c '#include "common/lock_friend.h"\n#include "recorder/recorder_friend.h"'
write capture/boundary.c '#include "recorder/recorder_friend.h"'
write programs/live/rows.c '#include "common/lock_friend.h"\n#include "recorder/recorder_friend.h"'
write programs/live/hook.c 'extern int f(void) __attribute__((weak));\natomic_compare_exchange_weak(&x, &y, z);'
write common/exchange.c 'atomic_compare_exchange_weak(&x, &y, z);'
write model/workload/step.c '#include "recorder/recorder_friend.h"'
write model/bench/sides.c '#include "recorder/recorder_friend.h"\n#include "programs/runs/run.h"\nvoid f(void) { _exit(1); }'
write cli/fit/fit.c '#include "cli/fit/internal.h"\nint main(void) { tide_cli_print(stdout, "x"); fputs("x", out); exit(1); }'
write cli/cli.c 'void f(void) { fputs("x", stderr); }'
write cli/fit/internal.h ''
write cli/shell.h ''
write cli/sweep/sweep.c '#include "cli/shell.h"\n#include "programs/runs/run.h"'
write programs/runs/child.c 'void f(void) { _exit(127); }'
write tests/unit/allocator/test_cache.c '#include "allocator/cache_internal.h"'
write viewer/src/good.js 'element.textContent = name;'
write tidemark.h '#include "allocator/cache.h"'
write cmake/public_headers.txt '# a comment\nallocator/cache.h\ncommon/status.h\ntidemark.h'
write programs/virtual_cuda/state.c 'static struct at {\n    int n, m;\n} at = {.n = 1, .m = 2};
static _Thread_local struct own {\n    int n;\n} own;\nTIDE_VC_LOCK(lock, NULL);
static const int TABLE[] = {1, 2};\nstatic const char *const NAMES[] = {"a", "b"};\nstatic const char TEXT[] = "a";
static int f(int a, int b) {\n    static int n;\n    return n;\n}\nstatic const at *\ng(void) {\n}'
write programs/virtual_cuda/more.c 'static int n;\nstatic _Thread_local int m;'
write common/tables.c "static const int TABLE[] = {\n$(lines 200 '    1,')\n};"
write common/long.c "static int sum(void) {\n$(lines 58 '    x++;')\n}"
for i in {1..41}; do
    write "tests/golden/cases/$i.sh" ''
    [ "$i" = 41 ] || write "snapshot/full/$i.h" ''
done
expect clean "a clean tree"

# These includes point from a module to one that it may not include.
plant snapshot/format/writer.c '#include "allocator/cache.h"' 'snapshot must not include allocator/'
plant snapshot/format/reader.c '#include "programs/wire/run_launches.h"' 'snapshot must not include programs/wire/'
plant common/status.c '#include "common/status.h"\n#  include "model/ops.h"' 'common must not include model/'
plant allocator/cuda.cu '#include "snapshot/document/snapshot.h"' 'allocator must not include snapshot/'
plant model/layers/bad.c '#include "programs/runs/run.h"' 'model must not include programs/runs/'
plant model/bad.c '#include "model/run/model.h"' 'model must not include model/run/'
plant programs/runs/bad.c '#include "model/run/model.h"' 'programs/runs must not include model/run/'
plant programs/runs/print.c '#include "cli/shell.h"' 'programs/runs must not include cli/'
plant model/run/bad.c '#include "cli/shell.h"' 'model/run must not include cli/'
plant model/bench/bad.c '#include "cli/options/options.h"' 'model/bench must not include cli/'
plant model/bench/bad.c '#include "report/table.h"' 'model/bench must not include report/'
plant cli/bad.c '#include "model/config.h"' 'cli must not include model/'
plant cli/bad.c '#include "model/commands/study/conclusions.h"' 'cli must not include model/commands/'
plant device/bad.c '#include "stack/depot.h"' 'device must not include stack/'
plant stack/bad.c '#include "recorder/event_log.h"' 'stack must not include recorder/'
plant replay/bad.c '#include "tests/support/x.h"' 'replay must not include tests/'
plant programs/live/bad.c '#include "programs/launch/launch.h"' 'programs/live must not include programs/launch/'
plant programs/scratch/bad.c '#include "common/status.h"' 'programs/scratch must not include common/'
plant common/bad.c '#include "programs/launch/launch.h"' 'common must not include programs/launch/'

# The folders of cli/ and of model/commands/ must not include each other.
plant cli/sweep/bad.c '#include "cli/compare/rows.h"' 'of another room of cli/'
plant cli/bad.c '#include "cli/compare/rows.h"' 'of another room of cli/'
plant model/commands/profile/bad.c '#include "model/commands/study/conclusions.h"' 'of another room'
plant model/commands/bad.c '#include "cli/compare/rows.h"' 'of another room'

# Only the declared folders may include internal and friend headers.
plant replay/bad.c '#include "allocator/cache_internal.h"' 'for its own folder alone'
plant cli/sweep/bad.c '#include "cli/fit/internal.h"' 'for its own folder alone'
plant snapshot/pytorch/bad.c '#include "snapshot/other_internal.h"' 'for its own folder alone'
plant cli/commands/bad.c '#include "recorder/recorder_friend.h"' 'FRIENDS in check_sources.sh does not name cli/commands'
plant model/eager/bad.c '#include "recorder/recorder_friend.h"' 'does not name model/eager'
plant model/bad.c '#include "common/other_friend.h"' 'does not name model'
plant capture/boundary.c '#include "common/status.h"' 'FRIENDS names capture for recorder/recorder_friend.h'

# The list of installed headers must match what tidemark.h includes.
plant allocator/cache.h '#include "common/status.h"\n#include "common/more.h"' 'common/more.h'
plant cmake/public_headers.txt 'allocator/cache.h\ncommon/status.h\ntidemark.h\ncommon/pickle.h' 'common/pickle.h'

# No weak symbols below programs/.
plant common/bad.c 'extern int f(void)\n    __attribute__((weak));' 'common/bad.c:2:.*no weak symbols'
plant device/bad.c 'extern int f(void) __attribute__((noinline, weak));' 'no weak symbols'
plant recorder/bad.c '#pragma weak f' 'no weak symbols'

# One variable for the state of a file of the virtual card, and one for that of a thread.
plant programs/virtual_cuda/bad.c 'static int n;\nstatic bool is_on;' 'bad.c:2: a second variable of the process'
plant programs/virtual_cuda/bad.c 'static size_t n_all, n_room;' 'bad.c:1: a second variable of the process'
plant programs/virtual_cuda/bad.c 'static struct at {\n    int n;\n} at = {.n = 1};\nstatic const char *text;' 'bad.c:4: a second variable of the process'
plant programs/virtual_cuda/bad.c 'static int n;\nstatic thing all[4]; /* x */' 'bad.c:2: a second variable of the process'
plant programs/virtual_cuda/api/bad.c 'static _Thread_local int n;\nstatic _Thread_local struct {\n    int n;\n} own;' 'bad.c:2: a second variable of the thread'

# Libraries must not print or end the process.
plant allocator/bad.c 'void f(void) { exit(1); }' 'must not print, exit or abort'
plant allocator/bad.c 'void f(void) { _exit(1); }' 'must not print, exit or abort'
plant snapshot/bad.c 'void f(void) { fprintf(stderr, "x"); }' 'must not print, exit or abort'
plant model/bad.c 'void f(void) { printf("x"); }' 'must not print, exit or abort'
plant programs/runs/bad.c 'void f(void) { exit(1); }' 'must not print, exit or abort'
plant model/bench/bad.c 'void f(void) { printf("x"); }' 'must not print, exit or abort'
plant model/bench/bad.c 'void f(void) { exit(1); }' 'must not print, exit or abort'

# In cli/ only the printer prints.
for call in 'printf("x")' 'puts("x")' 'fprintf(stderr, "x")' 'fputs(text, stdout)' "fputc('x', stderr)" 'fwrite(text, 1, n, stdout)' 'perror("x")' 'vfprintf(stderr, format, list)'; do
    plant cli/sweep/bad.c "void f(void) { $call; }" 'print with tide_cli_note or tide_cli_print'
done
plant model/commands/bad.c 'void f(void) { printf("x"); }' 'print with tide_cli_note or tide_cli_print'

# Lengths: of files of every kind, and of functions in every form.
plant common/long.h "$(lines 501 '/* x */')" '501 lines'
plant tests/unit/common/test_long.c "$(lines 501 '/* x */')" '501 lines'
plant viewer/src/long.css "$(lines 501 'a {}')" '501 lines'
body=$(lines 59 '    x++;')
plant common/bad.c "static int f(void) {\n$body\n}" 'common/bad.c:1: 61 lines'
plant common/bad.c "#define X(y) \\\\\\\\\n    f(y)\n\nint f(int a,\n      int b) {\n$body\n}" 'common/bad.c:4: 62 lines'
plant common/bad.c "typedef struct x {\n    int (*f)(void);\n} x;\n\nstruct x *f(void) {\n$body\n}" 'common/bad.c:5: 61 lines'
plant common/bad.c "static const struct {\n    int a;\n} ROWS[] = {\n    {1},\n};\n\nint f(void) {\n$body\n}" 'common/bad.c:7: 61 lines'
plant model/bad.cu "template <int N>\nstatic __global__ void f(int *a) {\n$body\n}" 'model/bad.cu:2: 61 lines'
plant model/bad.cu "extern \"C\" {\nint f(void) {\n$body\n}\n}" 'model/bad.cu:2: 61 lines'

# Files of a folder, which folders in it do not count for.
plant snapshot/full/41.h '' 'snapshot/full/: 41 files of its own'
write snapshot/full/room/41.h ''
expect clean "a folder within a full one"
rm "$scratch/tests/golden/cases/41.sh"
expect refused "a folder of data that is no longer full"
write tests/golden/cases/41.sh ''

# The page.
plant viewer/src/page/app.js 'element.innerHTML = name;' 'textContent'
plant viewer/start.js 'element.outerHTML = name;' 'textContent'

expect clean "all of them taken away again"
