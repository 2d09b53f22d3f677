/* libunwind_internal.h - libunwind's unw_backtrace, opened at run time. unwinder.h explains why it
 * is not linked.
 */
#ifndef TIDE_STACK_LIBUNWIND_INTERNAL_H
#define TIDE_STACK_LIBUNWIND_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/unwinder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frames requested from libunwind. The innermost ones are our own and are cut off. */
enum { TIDE_LIBUNWIND_FRAMES = TIDE_MAX_FRAMES + 8 };

typedef struct tide_libunwind {
    /* Fills in return addresses, innermost first, and returns their number. NULL: not opened. */
    int (*backtrace)(void **ret_pcs, int max_frames);
} tide_libunwind;

/* Opens libunwind.so.8, or the file that TIDEMARK_LIBUNWIND names. Where neither is named nor
 * installed, and `can_be_glibc`, it is glibc's backtrace(), which ends at code without unwind
 * tables. Nothing to release. */
TIDE_NODISCARD tide_status tide_libunwind_open(tide_libunwind *ret, bool can_be_glibc,
                                               tide_error *error);

/* The return addresses from `innermost_pc` outwards, at most max_frames of them. `innermost_pc` is
 * the return address of a direct or indirect caller of this function. Returns their number. */
size_t tide_libunwind_capture(const tide_libunwind *libunwind, uint64_t innermost_pc,
                              size_t max_frames, uint64_t *ret_pcs);

#ifdef __cplusplus
}
#endif

#endif
