#include "allocator/unwinder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

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
    return TIDE_OK;
}
