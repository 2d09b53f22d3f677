/* runtime.h - the functions of the runtime that a test links into its program or library. */
#ifndef TESTS_LINKED_RUNTIME_H
#define TESTS_LINKED_RUNTIME_H

#include <stddef.h>

#pragma GCC visibility push(hidden)
int libcudart_static_0123(void);
int cudaRuntimeGetVersion(int *ret_version);
int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaGetDeviceProperties(void *ret_properties, int device);
int cudaGetDeviceCount(int *ret_n);
int cudaMemsetAsync_ptsz(void *address, int value, size_t n_bytes, void *stream);
#pragma GCC visibility pop

#endif
