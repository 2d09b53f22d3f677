/* unwinder.h - the calling thread's return addresses, by libunwind's unw_backtrace.
 *
 * libunwind is opened at run time with its symbols kept local, never linked: linked, it would
 * replace backtrace() and the unwinding of C++ exceptions in the whole process. It stays loaded
 * once opened, because it keeps per-thread caches that outlive any one recorder.
 */
#ifndef TIDE_ALLOCATOR_UNWINDER_H
#define TIDE_ALLOCATOR_UNWINDER_H

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MAX_FRAMES = 256 }; /* deepest stack that anyone may ask for */

typedef struct tide_unwinder {
    /* Fills return addresses, innermost first, and tells how many. */
    int (*backtrace)(void **ret_pcs, int max_frames);
} tide_unwinder;

/* Opens libunwind.so.8, or the file that the environment variable TIDEMARK_LIBUNWIND names.
 * TIDE_UNSUPPORTED, with the package to install, when it is not there. Nothing to release. */
TIDE_NODISCARD tide_status tide_unwinder_init(tide_unwinder *unwinder, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
