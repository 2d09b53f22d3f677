/* real.h - the functions of CUDA that the stand-ins replace.
 *
 * Programs find a stand-in first: by linking, because this library is preloaded, and by name
 * lookups, because dlsym and cuGetProcAddress also have stand-ins
 * (programs/live/entries/entry_symbols.c). Each has a hook, and all hooks are in a separate
 * section.
 */
#ifndef TIDE_LIVE_REAL_H
#define TIDE_LIVE_REAL_H

#include <stddef.h>

/* A pointer to any function; cast it to its real type to call it. */
typedef void tide_live_any(void);

typedef struct tide_live_hook {
    const char *name;
    tide_live_any *ours;
    tide_live_any *real; /* NULL: not found yet. Accessed by __atomic functions */
} tide_live_hook;

/* The real function. Searches in the order in which the loader would have found it; `caller` is an
 * address in the calling library, for functions that only that library sees. If there is none,
 * returns a function that returns 500, "not found" in both the runtime and the driver. */
tide_live_any *tide_live_real(tide_live_hook *hook, const void *caller);

/* The same for a function without a stand-in; NULL if there is none. */
tide_live_any *tide_live_real_named(const char *name, const void *caller);

/* The C library's dlsym: programs find ours. */
typedef void *tide_live_dlsym(void *handle, const char *name);
tide_live_dlsym *tide_live_real_dlsym(void);

#endif
