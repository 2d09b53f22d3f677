/* A library with a runtime of its own, which it also calls in a constructor. */
#include <stdio.h>

#include "runtime.h"

int library_work(void);

__attribute__((constructor)) static void early(void) {
    int n = -1;
    int status = cudaGetDeviceCount(&n);
    printf("constructor %d %d\n", status, n);
}

static void *take_memory(size_t n_bytes) {
    void *address = NULL;
    printf("library cudaMalloc %d\n", cudaMalloc(&address, n_bytes));
    return address;
}

int library_work(void) {
    static char properties[4096];
    int version = 0;
    void *address = take_memory((size_t)32 << 20);
    printf("per thread %d\n", cudaMemsetAsync_ptsz(address, 0, 1024, NULL));
    printf("properties %d\n", cudaGetDeviceProperties(properties, 0));
    (void)cudaRuntimeGetVersion(&version);
    printf("version %d\n", version);
    return 0;
}
