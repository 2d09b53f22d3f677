#include "support/hostmem_fault.h"

#include <stdlib.h>

/* Counts the call; true if it must fail. */
static bool fails(tide_hostmem_fault *fault) {
    fault->n_calls++;
    return fault->n_calls == fault->fail_call ||
           (fault->fails_on && fault->fail_call != 0 && fault->n_calls > fault->fail_call);
}

static void *fault_alloc(void *ctx, size_t n_bytes) {
    tide_hostmem_fault *fault = ctx;
    void *memory = fails(fault) ? NULL : malloc(n_bytes);
    fault->n_live += memory == NULL ? 0 : 1;
    return memory;
}

static void *fault_resize(void *ctx, void *memory, size_t n_bytes) {
    tide_hostmem_fault *fault = ctx;
    if (fails(fault)) {
        return NULL;
    }
    void *resized = realloc(memory, n_bytes);
    fault->n_live += memory == NULL && resized != NULL ? 1 : 0;
    return resized;
}

static void fault_release(void *ctx, void *memory) {
    tide_hostmem_fault *fault = ctx;
    fault->n_live -= memory == NULL ? 0 : 1;
    free(memory);
}

void tide_hostmem_fault_init(tide_hostmem_fault *fault, size_t fail_call) {
    *fault = (tide_hostmem_fault){.mem = {fault_alloc, fault_resize, fault_release, fault},
                                  .fail_call = fail_call};
}
