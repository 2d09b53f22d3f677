/* A CUDA runtime as the linker puts it into an object: its public functions and one that is private
 * to it, all hidden. Only their names are CUDA's: a function that was not replaced asks the driver
 * for the table that NVIDIA's own asks for, and returns the refusal. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "runtime.h"

#ifndef VERSION
#define VERSION 13000
#endif

/* The name marks the object; a program that only has functions of CUDA's names lacks it. */
#ifdef NAMES_ONLY
#define libcudart_static_0123 own_function
int own_function(void);
#endif

int libcudart_static_0123(void) {
    static const unsigned char TABLE[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                          0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
    int (*ask)(const void **, const void *) = NULL;
    const void *table = NULL;
    void *found = dlsym(RTLD_DEFAULT, "cuGetExportTable");
    memcpy(&ask, &found, sizeof(ask));
    return ask != NULL ? ask(&table, TABLE) : -1;
}

int cudaRuntimeGetVersion(int *ret_version) {
    if (ret_version == NULL) { /* longer than a jump */
        return libcudart_static_0123();
    }
    *ret_version = VERSION;
    return 0;
}

int cudaMalloc(void **ret_address, size_t n_bytes) {
    (void)ret_address;
    (void)n_bytes;
    return libcudart_static_0123();
}

int cudaGetDeviceProperties(void *ret_properties, int device) {
    (void)ret_properties;
    (void)device;
    return libcudart_static_0123();
}

int cudaGetDeviceCount(int *ret_n) {
    (void)ret_n;
    return libcudart_static_0123();
}

int cudaMemsetAsync_ptsz(void *address, int value, size_t n_bytes, void *stream) {
    (void)address;
    (void)value;
    (void)n_bytes;
    (void)stream;
    return libcudart_static_0123();
}
