/* attributes.h - figures of a card under the numbers of cudaDeviceAttr, which CUdevice_attribute
 * shares.
 */
#ifndef TIDE_VIRTUAL_CUDA_ATTRIBUTES_H
#define TIDE_VIRTUAL_CUDA_ATTRIBUTES_H

#include <stddef.h>

/* The attribute of a device that the caller has checked; 0 if the card does not have it. */
int tide_vc_attribute(int attribute, int device);

/* The number of blocks of n_threads threads of the kernel, with that much dynamic shared memory,
 * that fit on a multiprocessor. If the kernel's image cannot be read, returns an upper bound and
 * reports it as inexact. */
int tide_vc_occupancy(const void *kernel, int device, int n_threads, size_t dynamic_bytes);

#endif
