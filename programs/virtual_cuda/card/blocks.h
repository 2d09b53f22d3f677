/* blocks.h - the live allocations of device memory, found by an address inside them.
 *
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_BLOCKS_H
#define TIDE_VIRTUAL_CUDA_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tide_vc_block_kind {
    TIDE_VC_OWN = 0,  /* from cudaMalloc */
    TIDE_VC_BORROWED, /* another process' memory, charged to that process */
    TIDE_VC_POOLED    /* from a pool, which is charged for it */
} tide_vc_block_kind;

typedef struct tide_vc_block {
    uint64_t address, n_bytes; /* as returned to the program */
    int device;
    tide_vc_block_kind kind;
    void *pool; /* borrowed; for TIDE_VC_POOLED */
} tide_vc_block;

/* Allocates as cudaMalloc does: below 1 MiB in units of 512 bytes, above that in pages of 2 MiB.
 * TIDE_VC_OK, or a status of tide_vc_charge or host_failure.h. 0 bytes give the address 0. */
int tide_vc_block_alloc(int device, uint64_t n_bytes, uint64_t *ret_address);

/* TIDE_VC_INVALID_VALUE: no block of cudaMalloc begins at the address. The address 0 is allowed. */
int tide_vc_block_release(uint64_t address);

/* Finds addresses for n_bytes, a multiple of 512, that are already charged to a pool, or to another
 * process if `pool` is NULL. TIDE_VC_OK, or a status of host_failure.h. */
int tide_vc_block_place(int device, uint64_t n_bytes, void *pool, uint64_t *ret_address);

/* Removes the block of that kind that begins at the address from the list; false if there is none.
 * tide_vc_block_end then frees its addresses. */
bool tide_vc_block_take_out(uint64_t address, tide_vc_block_kind kind, tide_vc_block *ret_block);
void tide_vc_block_end(const tide_vc_block *block);

/* The first block at or above the address; false if there is none. */
bool tide_vc_block_next(uint64_t address, tide_vc_block *ret_block);

/* Finds the block that holds the address; false if none does. */
bool tide_vc_block_find(uint64_t address, tide_vc_block *ret_block);

#endif
