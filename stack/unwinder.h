/* unwinder.h - the calling thread's call stack, as a number in a depot.
 *
 * On x86-64 a stack is walked by the unwind tables of the program (.eh_frame), helped by what the
 * thread remembers of its earlier stacks (stack_walk_internal.h). libunwind's unw_backtrace walks
 * where that gives up: signal frames, code without tables or with unusual ones, other stacks than
 * the thread's own, other processors.
 *
 * libunwind is opened at run time with its symbols kept local, never linked: linked, it would
 * replace backtrace() and the unwinding of C++ exceptions in the whole process. It stays loaded
 * once opened, because it keeps per-thread caches that outlive any one recorder.
 */
#ifndef TIDE_STACK_UNWINDER_H
#define TIDE_STACK_UNWINDER_H

#include "stack/depot.h"
#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MAX_FRAMES = 256 }; /* deepest stack that anyone may ask for */

typedef struct tide_unwinder tide_unwinder;

/* Stacks of up to max_frames (1..TIDE_MAX_FRAMES) innermost frames go into `depot`; it and `mem`
 * are borrowed and outlive the unwinder, which the caller destroys. Reads the environment:
 * TIDEMARK_UNWINDER is memo (the default), libunwind (for everything), or check (both, compared);
 * TIDEMARK_LIBUNWIND names the file to open, default libunwind.so.8. TIDE_INVALID for another
 * word, TIDE_UNSUPPORTED, with the package to install, when libunwind is needed and not there. */
TIDE_NODISCARD tide_status tide_unwinder_create(const tide_hostmem *mem, tide_stack_depot *depot,
                                                int max_frames, tide_unwinder **ret_unwinder,
                                                tide_error *error);
void tide_unwinder_destroy(tide_unwinder *unwinder);

/* The number of the stack that begins with the caller's return address in the function that calls
 * this; TIDE_NONE when there is no memory for it. May be called from any thread. */
uint32_t tide_unwinder_capture(tide_unwinder *unwinder);

/* NULL; without libunwind the reason, for people: stacks end where only libunwind could go on.
 * Valid until the unwinder is destroyed. */
const char *tide_unwinder_missing(const tide_unwinder *unwinder);

typedef struct tide_unwinder_stats {
    uint64_t n_captures;
    uint64_t n_remembered;    /* captures that were the stack remembered, all of it */
    uint64_t n_frames_walked; /* of the other captures: frames that were not remembered */
    uint64_t n_given_up;      /* captures that were left to libunwind */
    uint64_t n_checked;       /* captures compared with libunwind's */
    uint64_t n_mismatched;    /* of these, how many differed */
} tide_unwinder_stats;
void tide_unwinder_get_stats(tide_unwinder *unwinder, tide_unwinder_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
