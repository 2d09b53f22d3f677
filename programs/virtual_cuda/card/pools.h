/* pools.h - the memory of pools (cudaMallocAsync), for the calls that free it and the calls that
 * wait.
 *
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_POOLS_H
#define TIDE_VIRTUAL_CUDA_POOLS_H

#include <stdbool.h>
#include <stdint.h>

/* TIDE_VC_INVALID_VALUE: no block of a pool begins at the address. */
int tide_vc_pool_free(uint64_t address, const void *stream);

/* The host has waited for a stream, an event or a device: pools free the memory they hold above
 * their release threshold. */
void tide_vc_pools_waited(void);

/* Frees the unused memory of the pools of a device that is short of memory. False if there was
 * none. */
bool tide_vc_pools_trim(int device);

#endif
