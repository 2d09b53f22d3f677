/* unwinder.h - the calling thread's call stack, as a number in a depot.
 *
 * On x86-64 a stack is walked with the unwind tables of the program (.eh_frame) and with the
 * thread's memory of its earlier stacks (walk_internal.h). If that walk gives up, libunwind's
 * unw_backtrace takes over: at signal frames, in code without tables or with unusual ones, on
 * stacks other than the thread's own, and on other processors. docs/decisions/0008 explains why.
 *
 * libunwind is opened at run time with local symbols and never linked: a linked libunwind would
 * replace backtrace() and the unwinding of C++ exceptions in the whole process. Once opened it
 * stays loaded, because it keeps caches of threads that outlive any one recorder.
 */
#ifndef TIDE_STACK_UNWINDER_H
#define TIDE_STACK_UNWINDER_H

#include "common/hostmem.h"
#include "common/status.h"
#include "stack/depot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MAX_FRAMES = 256 }; /* limit of the depth of a captured stack */

typedef struct tide_unwinder tide_unwinder;

/* Stacks of up to max_frames (1..TIDE_MAX_FRAMES) innermost frames go into `depot`; it and `mem`
 * are borrowed and outlive the unwinder, which the caller destroys. Reads the environment:
 * TIDEMARK_UNWINDER is memo (the default), libunwind (for everything), or check (both, compared);
 * TIDEMARK_LIBUNWIND names the file to open, default libunwind.so.8. Without that default, memo
 * uses glibc's backtrace(), which ends a stack at code without tables. TIDE_INVALID for any other
 * value; TIDE_UNSUPPORTED, naming the package to install, when libunwind is needed and missing.
 */
TIDE_NODISCARD tide_status tide_unwinder_create(const tide_hostmem *mem, tide_stack_depot *depot,
                                                int max_frames, tide_unwinder **ret_unwinder,
                                                tide_error *error);
void tide_unwinder_destroy(tide_unwinder *unwinder);

/* The number of the calling thread's stack. Its innermost address is the return address of this
 * call. TIDE_NONE when there is no memory for the stack. May be called from any thread. */
uint32_t tide_unwinder_capture(tide_unwinder *unwinder);

/* NULL if libunwind was opened, or glibc's backtrace() is used. Otherwise the reason why not:
 * stacks then end where only libunwind could continue. Valid until the unwinder is destroyed. */
const char *tide_unwinder_missing(const tide_unwinder *unwinder);

typedef struct tide_unwinder_stats {
    uint64_t n_captures;
    uint64_t n_remembered;    /* captures whose whole stack was remembered */
    uint64_t n_frames_walked; /* frames of the other captures that were not remembered */
    uint64_t n_given_up;      /* captures handed to libunwind */
    uint64_t n_checked;       /* captures compared with libunwind */
    uint64_t n_mismatched;    /* of those, captures that differed */
} tide_unwinder_stats;
void tide_unwinder_get_stats(tide_unwinder *unwinder, tide_unwinder_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
