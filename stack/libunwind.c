/* libunwind.c - opens libunwind with its symbols kept local, and cuts our own frames off its
 * stacks.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

#include "stack/libunwind_internal.h"

/* ThreadSanitizer destroys its state of a thread in the last round of the thread's exit handlers.
 * libunwind frees its cache in that same round and locks a mutex to do so, which then crashes in
 * the sanitizer. Builds with the sanitizer use glibc's slower backtrace() instead. */
#if defined(__SANITIZE_THREAD__)
#define TIDE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIDE_THREAD_SANITIZER 1
#endif
#endif

/* False if glibc cannot load the unwinder of libgcc. It loads it at the first call, so not later in
 * a capture. */
static bool can_use_glibc(void) {
    void *pc = NULL;
    return backtrace(&pc, 1) == 1;
}

tide_status tide_libunwind_open(tide_libunwind *ret, bool can_be_glibc, tide_error *error) {
    const char *path = getenv("TIDEMARK_LIBUNWIND");
    bool is_named = path != NULL && path[0] != '\0';
    if (!is_named) {
        path = "libunwind.so.8";
    }
    /* Never closed, because its thread exit handlers would point to unmapped code. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        if (can_be_glibc && !is_named && can_use_glibc()) {
            ret->backtrace = backtrace;
            return TIDE_OK;
        }
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "cannot open %s (%s); install the package libunwind8", path,
                         reason == NULL ? "no reason given" : reason);
    }
    void *symbol = dlsym(library, "unw_backtrace");
    if (symbol == NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s has no unw_backtrace; install the package libunwind8, or let "
                         "TIDEMARK_LIBUNWIND name its file",
                         path);
    }
    /* ISO C has no conversion from void * to a function pointer. */
    memcpy(&ret->backtrace, &symbol, sizeof(symbol));
#ifdef TIDE_THREAD_SANITIZER
    ret->backtrace = backtrace;
#endif
    return TIDE_OK;
}

size_t tide_libunwind_capture(const tide_libunwind *libunwind, uint64_t innermost_pc,
                              size_t max_frames, uint64_t *ret_pcs) {
    void *found[TIDE_LIBUNWIND_FRAMES];
    int n_found = libunwind->backtrace(found, TIDE_LIBUNWIND_FRAMES);
    size_t n = n_found < 0 ? 0 : (size_t)n_found;
    /* The frames of this function and of its callers in the unwinder come first. How many there are
     * depends on what the compiler inlined, so they are recognised by the address they lead to. */
    size_t first = 0;
    while (first < n && (uint64_t)(uintptr_t)found[first] != innermost_pc) {
        first++;
    }
    size_t n_pcs = 0;
    for (size_t i = first; i < n && n_pcs < max_frames; i++) {
        ret_pcs[n_pcs++] = (uint64_t)(uintptr_t)found[i];
    }
    return n_pcs;
}
