/* libunwind_internal.h - libunwind's unw_backtrace, opened at run time.
 */
#ifndef TIDE_STACK_LIBUNWIND_INTERNAL_H
#define TIDE_STACK_LIBUNWIND_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "stack/unwinder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frames asked of libunwind: some of the innermost ones are our own. */
enum { TIDE_LIBUNWIND_FRAMES = TIDE_MAX_FRAMES + 8 };

typedef struct tide_libunwind {
    /* Fills return addresses, innermost first, and tells how many. NULL: not opened. */
    int (*backtrace)(void **ret_pcs, int max_frames);
} tide_libunwind;

/* Opens libunwind.so.8, or the file that TIDEMARK_LIBUNWIND names. Nothing to release. */
TIDE_NODISCARD tide_status tide_libunwind_open(tide_libunwind *ret, tide_error *error);

/* The return addresses from `innermost_pc` on, which is that of a function that called this,
 * directly or not; at most max_frames of them. Returns how many. */
size_t tide_libunwind_capture(const tide_libunwind *libunwind, uint64_t innermost_pc,
                              size_t max_frames, uint64_t *ret_pcs);

#ifdef __cplusplus
}
#endif

#endif
