/* real.h - the functions of CUDA behind those that stand in for them.
 *
 * A stand-in is what programs find first: by linking, because this library is preloaded, and by
 * looking up names, because dlsym and cuGetProcAddress are stood in for as well
 * (programs/live/entries/entry_symbols.c). Each has a hook, and all hooks lie together in a section
 * of their own.
 */
#ifndef TIDE_LIVE_REAL_H
#define TIDE_LIVE_REAL_H

#include <stddef.h>

/* A pointer to any function; it is called as what it is. */
typedef void tide_live_any(void);

typedef struct tide_live_hook {
    const char *name;
    tide_live_any *ours;
    tide_live_any *real; /* NULL: not found yet. Read and written by __atomic functions */
} tide_live_hook;

/* The real function. Looks for it in the order in which the loader would have found it; `caller` is
 * an address in the library that calls, for what only that library sees. Where there is none, a
 * function that returns 500, which both the runtime and the driver call "not found". */
tide_live_any *tide_live_real(tide_live_hook *hook, const void *caller);

/* The same for a function without a stand-in; NULL: there is none. */
tide_live_any *tide_live_real_named(const char *name, const void *caller);

/* The C library's dlsym: the one that programs find is ours. */
typedef void *tide_live_dlsym(void *handle, const char *name);
tide_live_dlsym *tide_live_real_dlsym(void);

#endif
