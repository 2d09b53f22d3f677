/* attributes.h - figures of a card under the numbers of cudaDeviceAttr, which CUdevice_attribute
 * shares.
 */
#ifndef TIDE_VIRTUAL_CUDA_ATTRIBUTES_H
#define TIDE_VIRTUAL_CUDA_ATTRIBUTES_H

#include <stddef.h>

/* The attribute of a device that the caller has checked. 0 for one that the card does not have. */
int tide_vc_attribute(int attribute, int device);

/* Blocks of n_threads threads of the kernel, with so much dynamic shared memory, that fit on a
 * multiprocessor. Where the kernel's image cannot be read, an upper bound, which is said. */
int tide_vc_occupancy(const void *kernel, int device, int n_threads, size_t dynamic_bytes);

#endif
