/* blocks.h - the allocations of device memory that are alive, found by an address inside them.
 *
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_BLOCKS_H
#define TIDE_VIRTUAL_CUDA_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tide_vc_block {
    uint64_t address, n_bytes; /* as it is given out and charged */
    int device;
    bool is_borrowed; /* another process', which is charged for it */
    bool is_pooled;   /* of cudaMallocAsync */
} tide_vc_block;

/* Allocates as cudaMalloc does: below 1 MiB in units of 512 bytes, from there on in pages of 2 MiB.
 * TIDE_VC_OK, or a status of tide_vc_charge. 0 bytes give the address 0. */
int tide_vc_block_alloc(int device, uint64_t n_bytes, uint64_t *ret_address);

/* Addresses for memory of another process. TIDE_VC_OK, or TIDE_VC_MEMORY. */
int tide_vc_block_borrow(int device, uint64_t n_bytes, uint64_t *ret_address);
void tide_vc_block_return(uint64_t address);

/* TIDE_VC_INVALID_VALUE: no block begins there. The address 0 is allowed. */
int tide_vc_block_release(uint64_t address);

/* The block that holds the address; false: none does. */
bool tide_vc_block_find(uint64_t address, tide_vc_block *ret_block);

#endif
