/* entry_calls.c - syscall(): the calls that open, rename or remove a file, or make a folder, go the
 * way of the functions of the C library; links and other changes are made for real. GNU patch and
 * programs in Rust rename files this way. */
#define _GNU_SOURCE /* renameat2 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/change.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/opening.h"

enum { N_ARGUMENTS = 6 };

/* The call itself, with all six arguments, like the C library's syscall(). */
static long make(long number, const long *of) {
    long result = 0;
    register long r10 __asm__("r10") = of[3];
    register long r8 __asm__("r8") = of[4];
    register long r9 __asm__("r9") = of[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(of[0]), "S"(of[1]), "d"(of[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return tide_scratch_answer(result);
}

static const char *path_of(long argument) {
    return (const char *)(intptr_t)argument; /* the caller passes an address as a number */
}

/* Names are renamed, removed and made. False: another call. */
static bool change_name(long number, const long *of, long *ret_result) {
    switch (number) {
    case SYS_rename:
        *ret_result = rename(path_of(of[0]), path_of(of[1]));
        return true;
    case SYS_renameat:
        *ret_result = renameat((int)of[0], path_of(of[1]), (int)of[2], path_of(of[3]));
        return true;
    case SYS_renameat2:
        *ret_result =
            renameat2((int)of[0], path_of(of[1]), (int)of[2], path_of(of[3]), (unsigned)of[4]);
        return true;
    case SYS_unlink:
        *ret_result = unlink(path_of(of[0]));
        return true;
    case SYS_unlinkat:
        *ret_result = unlinkat((int)of[0], path_of(of[1]), (int)of[2]);
        return true;
    case SYS_rmdir:
        *ret_result = rmdir(path_of(of[0]));
        return true;
    case SYS_mkdir:
        *ret_result = mkdir(path_of(of[0]), (mode_t)of[1]);
        return true;
    case SYS_mkdirat:
        *ret_result = mkdirat((int)of[0], path_of(of[1]), (mode_t)of[2]);
        return true;
    default:
        return false;
    }
}

static bool open_file(long number, const long *of, long *ret_result) {
    switch (number) {
    case SYS_open:
        *ret_result = tide_scratch_answer(
            tide_scratch_open(AT_FDCWD, path_of(of[0]), (int)of[1], (unsigned)of[2]));
        return true;
    case SYS_openat:
        *ret_result = tide_scratch_answer(
            tide_scratch_open((int)of[0], path_of(of[1]), (int)of[2], (unsigned)of[3]));
        return true;
    case SYS_creat:
        *ret_result = creat(path_of(of[0]), (mode_t)of[1]);
        return true;
    default:
        return false;
    }
}

/* The six arguments are read even if the caller passed fewer, as the C library does. */
TIDE_SCRATCH_EXPORT long syscall(long number, ...) {
    long of[N_ARGUMENTS];
    long result = 0;
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < N_ARGUMENTS; i++) {
        of[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (change_name(number, of, &result) || open_file(number, of, &result)) {
        return result;
    }
    return make(number, of);
}
