#include "programs/virtual_cuda/card/blocks.h"

#include <pthread.h>
#include <stddef.h>

#include "common/assert.h"
#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/card/address.h"
#include "programs/virtual_cuda/card/exports.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/card/ranges.h"
#include "programs/virtual_cuda/api/status.h"

#define PAGE_BYTES (UINT64_C(2) << 20)
#define LIST "the list of allocations" /* for messages about host memory */

static tide_vc_ranges blocks; /* owner: the pool */
TIDE_VC_LOCK(lock, NULL);

static tide_vc_block block_of(const tide_vc_range *range) {
    return (tide_vc_block){.address = range->address,
                           .n_bytes = range->n_bytes,
                           .device = range->device,
                           .kind = (tide_vc_block_kind)range->kind,
                           .pool = range->owner};
}

static bool add(tide_vc_block block) {
    pthread_mutex_lock(&lock);
    bool has_room = tide_vc_ranges_add(&blocks, (tide_vc_range){.address = block.address,
                                                                .n_bytes = block.n_bytes,
                                                                .owner = block.pool,
                                                                .device = block.device,
                                                                .kind = (int)block.kind});
    pthread_mutex_unlock(&lock);
    return has_room;
}

/* Runs before the card is charged, so that a failure of the host does not count as memory in use on
 * the card. */
static int prepare(uint64_t n_bytes) {
    pthread_mutex_lock(&lock);
    bool has_room = tide_vc_ranges_prepare(&blocks);
    pthread_mutex_unlock(&lock);
    if (!has_room) {
        return tide_vc_host_failed(LIST);
    }
    return tide_vc_address_fits(n_bytes) ? TIDE_VC_OK : tide_vc_addresses_failed();
}

/* Finds addresses for a block that is charged. */
static int place(tide_vc_block block, uint64_t *ret_address) {
    TIDE_ASSERT((block.kind == TIDE_VC_POOLED) == (block.pool != NULL));
    block.address = tide_vc_address_take(block.n_bytes);
    if (block.address == 0) {
        return tide_vc_host_failed(LIST);
    }
    if (!add(block)) {
        tide_vc_address_give_back(block.address, block.n_bytes);
        return tide_vc_host_failed(LIST);
    }
    *ret_address = block.address;
    return TIDE_VC_OK;
}

int tide_vc_block_alloc(int device, uint64_t n_bytes, uint64_t *ret_address) {
    uint64_t unit = n_bytes < PAGE_BYTES / 2 ? 512 : PAGE_BYTES;
    *ret_address = 0;
    if (n_bytes == 0) {
        return tide_vc_context(device);
    }
    if (n_bytes > UINT64_MAX - unit) {
        return TIDE_VC_MEMORY;
    }
    uint64_t whole = (n_bytes + unit - 1) / unit * unit;
    uint64_t capacity = tide_vc_card_of(device)->total_bytes + tide_vc_card_of(device)->spill_bytes;
    int status = whole <= capacity ? prepare(whole) : TIDE_VC_OK; /* otherwise the card refuses */
    if (status == TIDE_VC_OK) {
        status = tide_vc_charge(device, whole);
    }
    if (status != TIDE_VC_OK) {
        return status;
    }
    status = place((tide_vc_block){.n_bytes = whole, .device = device}, ret_address);
    if (status != TIDE_VC_OK) {
        tide_vc_refund(device, whole);
    }
    return status;
}

int tide_vc_block_place(int device, uint64_t n_bytes, void *pool, uint64_t *ret_address) {
    if (!tide_vc_address_fits(n_bytes)) {
        return tide_vc_addresses_failed();
    }
    return place((tide_vc_block){.n_bytes = n_bytes,
                                 .device = device,
                                 .kind = pool != NULL ? TIDE_VC_POOLED : TIDE_VC_BORROWED,
                                 .pool = pool},
                 ret_address);
}

bool tide_vc_block_take_out(uint64_t address, tide_vc_block_kind kind, tide_vc_block *ret_block) {
    tide_vc_range there;
    pthread_mutex_lock(&lock);
    bool is_found = tide_vc_ranges_find(&blocks, address, &there) && there.address == address &&
                    there.kind == (int)kind;
    if (is_found) {
        *ret_block = block_of(&there);
        (void)tide_vc_ranges_remove(&blocks, address, NULL);
    }
    pthread_mutex_unlock(&lock);
    return is_found;
}

void tide_vc_block_end(const tide_vc_block *block) {
    tide_vc_address_give_back(block->address, block->n_bytes);
}

int tide_vc_block_release(uint64_t address) {
    tide_vc_block gone;
    if (address == 0) {
        return TIDE_VC_OK;
    }
    if (!tide_vc_block_take_out(address, TIDE_VC_OWN, &gone)) {
        return TIDE_VC_INVALID_VALUE;
    }
    tide_vc_export_end(gone.address);
    tide_vc_block_end(&gone);
    tide_vc_refund(gone.device, gone.n_bytes);
    return TIDE_VC_OK;
}

bool tide_vc_block_next(uint64_t address, tide_vc_block *ret_block) {
    tide_vc_range there;
    pthread_mutex_lock(&lock);
    bool found = tide_vc_ranges_at_or_above(&blocks, address, &there);
    pthread_mutex_unlock(&lock);
    if (found) {
        *ret_block = block_of(&there);
    }
    return found;
}

bool tide_vc_block_find(uint64_t address, tide_vc_block *ret_block) {
    tide_vc_range there;
    pthread_mutex_lock(&lock);
    bool found = tide_vc_ranges_find(&blocks, address, &there);
    pthread_mutex_unlock(&lock);
    if (found) {
        *ret_block = block_of(&there);
    }
    return found;
}
