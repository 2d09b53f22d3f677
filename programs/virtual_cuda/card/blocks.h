/* blocks.h - the allocations of device memory that are alive, found by an address inside them.
 *
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_BLOCKS_H
#define TIDE_VIRTUAL_CUDA_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tide_vc_block_kind {
    TIDE_VC_OWN = 0,  /* of cudaMalloc */
    TIDE_VC_BORROWED, /* another process', which is charged for it */
    TIDE_VC_POOLED    /* of a pool, which is charged for it */
} tide_vc_block_kind;

typedef struct tide_vc_block {
    uint64_t address, n_bytes; /* as it is given out */
    int device;
    tide_vc_block_kind kind;
    void *pool; /* borrowed; of a pooled one */
} tide_vc_block;

/* Allocates as cudaMalloc does: below 1 MiB in units of 512 bytes, from there on in pages of 2 MiB.
 * TIDE_VC_OK, or a status of tide_vc_charge, or of host_failure.h. 0 bytes give the address 0. */
int tide_vc_block_alloc(int device, uint64_t n_bytes, uint64_t *ret_address);

/* TIDE_VC_INVALID_VALUE: no block of cudaMalloc begins there. The address 0 is allowed. */
int tide_vc_block_release(uint64_t address);

/* Addresses for n_bytes, a multiple of 512, that somebody else has charged: a pool, or with NULL
 * another process. TIDE_VC_OK, or a status of host_failure.h. */
int tide_vc_block_place(int device, uint64_t n_bytes, void *pool, uint64_t *ret_address);

/* Takes the block of that kind that begins there out of the list; false: there is none. Its
 * addresses are given back with tide_vc_block_end. */
bool tide_vc_block_take_out(uint64_t address, tide_vc_block_kind kind, tide_vc_block *ret_block);
void tide_vc_block_end(const tide_vc_block *block);

/* The block that holds the address; false: none does. */
bool tide_vc_block_find(uint64_t address, tide_vc_block *ret_block);

#endif
