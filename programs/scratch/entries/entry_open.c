/* entry_open.c - open and related functions. */
#define _GNU_SOURCE /* O_TMPFILE */
#include <fcntl.h>
#include <stdarg.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/opening.h"

/* The mode argument exists only if a file may be created. */
#define RIGHTS_OF(flags, last)                                                                     \
    unsigned mode = 0;                                                                             \
    if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) {                              \
        va_list arguments;                                                                         \
        va_start(arguments, last);                                                                 \
        mode = va_arg(arguments, unsigned);                                                        \
        va_end(arguments);                                                                         \
    }

int __open_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);

TIDE_SCRATCH_EXPORT int open(const char *path, int flags, ...) {
    RIGHTS_OF(flags, flags)
    return (int)tide_scratch_answer(tide_scratch_open(AT_FDCWD, path, flags, mode));
}
TIDE_SCRATCH_ALSO(open, open64);
TIDE_SCRATCH_ALSO(open, __open);
TIDE_SCRATCH_ALSO(open, __open64);

TIDE_SCRATCH_EXPORT int openat(int at, const char *path, int flags, ...) {
    RIGHTS_OF(flags, flags)
    return (int)tide_scratch_answer(tide_scratch_open(at, path, flags, mode));
}
TIDE_SCRATCH_ALSO(openat, openat64);

TIDE_SCRATCH_EXPORT int __open_2(const char *path, int flags) {
    return (int)tide_scratch_answer(tide_scratch_open(AT_FDCWD, path, flags, 0));
}
TIDE_SCRATCH_ALSO(__open_2, __open64_2);

TIDE_SCRATCH_EXPORT int __openat_2(int at, const char *path, int flags) {
    return (int)tide_scratch_answer(tide_scratch_open(at, path, flags, 0));
}
TIDE_SCRATCH_ALSO(__openat_2, __openat64_2);

TIDE_SCRATCH_EXPORT int creat(const char *path, mode_t mode) {
    return (int)tide_scratch_answer(
        tide_scratch_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode));
}
TIDE_SCRATCH_ALSO(creat, creat64);
