/* pools.h - the memory of pools (cudaMallocAsync), for the calls that free it and those that wait.
 *
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_POOLS_H
#define TIDE_VIRTUAL_CUDA_POOLS_H

#include <stdbool.h>
#include <stdint.h>

/* TIDE_VC_INVALID_VALUE: no block of a pool begins there. */
int tide_vc_pool_free(uint64_t address, const void *stream);

/* The host has waited for a stream, an event or a device: pools give back what they hold above
 * their release threshold. */
void tide_vc_pools_waited(void);

/* Gives back what the pools of a device hold and do not use: it is short of memory. False: they
 * hold nothing that could be given back. */
bool tide_vc_pools_trim(int device);

#endif
