#define _GNU_SOURCE /* RTLD_NEXT */
#include "programs/virtual_cuda/process/real_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

/* Two threads that search at the same time find the same function. */
void *tide_vc_real_function(void **kept, const char *name) {
    void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (found == NULL) {
        found = dlsym(RTLD_NEXT, name);
        __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    }
    return found;
}

int tide_vc_no_function(void) {
    errno = ENOSYS;
    return -1;
}
