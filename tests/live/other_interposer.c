/* other_interposer.c - another preloaded library that interposes a driver function. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int cuMemAlloc_v2(uint64_t *ret_address, size_t n_bytes);

int cuMemAlloc_v2(uint64_t *ret_address, size_t n_bytes) {
    int (*next)(uint64_t *, size_t) = NULL;
    void *found = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    memcpy(&next, &found, sizeof(next));
    return next != NULL ? next(ret_address, n_bytes) : 500;
}
