#include "allocator/unwinder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ThreadSanitizer takes a thread's state down in the last round of its exit handlers; libunwind
 * waits for that same round to free its cache, and locks a mutex then, which crashes in the
 * sanitizer. Builds with it walk the stack by glibc's slower backtrace() instead. */
#if defined(__SANITIZE_THREAD__)
#define TIDE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIDE_THREAD_SANITIZER 1
#endif
#endif
#ifdef TIDE_THREAD_SANITIZER
#include <execinfo.h>

/* Leaves out the sanitizer's own frame, the innermost one. */
static int walk(void **ret_pcs, int max_frames) {
    void *pcs[TIDE_MAX_FRAMES + 1];
    int n_frames = backtrace(pcs, max_frames + 1) - 1;
    if (n_frames > 0) {
        memcpy(ret_pcs, pcs + 1, (size_t)n_frames * sizeof(*pcs));
    }
    return n_frames;
}
#endif

tide_status tide_unwinder_init(tide_unwinder *unwinder, tide_error *error) {
    const char *path = getenv("TIDEMARK_LIBUNWIND");
    if (path == NULL || path[0] == '\0') {
        path = "libunwind.so.8";
    }
    /* Never closed: its thread-exit handlers would point into unmapped code. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "call stacks are off: cannot open %s (%s); install the package libunwind8",
                         path, reason == NULL ? "no reason given" : reason);
    }
    void *symbol = dlsym(library, "unw_backtrace");
    if (symbol == NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "call stacks are off: %s has no unw_backtrace; install the package "
                         "libunwind8, or let TIDEMARK_LIBUNWIND name its file",
                         path);
    }
    /* ISO C knows no conversion from void * to a function pointer. */
    memcpy(&unwinder->backtrace, &symbol, sizeof(symbol));
#ifdef TIDE_THREAD_SANITIZER
    unwinder->backtrace = walk;
#endif
    return TIDE_OK;
}
