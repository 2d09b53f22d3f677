/* pinned.h - page-locked host memory: ordinary memory, remembered so that queries about an address
 * return the right kind. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_PINNED_H
#define TIDE_VIRTUAL_CUDA_PINNED_H

#include <stdbool.h>

bool tide_vc_is_pinned(const void *address);

/* The same, for memory that device and host share (cudaMallocManaged). */
bool tide_vc_is_managed(const void *address);

#endif
