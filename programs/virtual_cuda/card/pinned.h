/* pinned.h - page-locked host memory: ordinary memory, remembered so that queries about an address
 * return the right kind. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_PINNED_H
#define TIDE_VIRTUAL_CUDA_PINNED_H

#include <stdbool.h>
#include <stddef.h>

bool tide_vc_is_pinned(const void *address);

/* The same, for memory that device and host share (cudaMallocManaged). */
bool tide_vc_is_managed(const void *address);

/* Sets bytes of the host's memory to zero. Whole pages of page-locked memory go back to the system,
 * which makes them zero, too: activations that a program keeps there then take no memory. */
void tide_vc_zero_host(void *address, size_t n_bytes);

#endif
