#include "virtual_cuda/blocks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "virtual_cuda/account.h"
#include "virtual_cuda/address.h"
#include "virtual_cuda/exports.h"
#include "virtual_cuda/fork.h"
#include "virtual_cuda/status.h"

#define PAGE_BYTES (UINT64_C(2) << 20)

static tide_vc_block *blocks; /* by address; from malloc */
static size_t n_blocks, n_room;
TIDE_VC_LOCK(lock, NULL);

/* The first block whose address is above. */
static size_t above(uint64_t address) {
    size_t low = 0;
    size_t high = n_blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool add(tide_vc_block block) {
    bool has_room = true;
    pthread_mutex_lock(&lock);
    if (n_blocks == n_room) {
        size_t more = n_room > 0 ? 2 * n_room : 1024;
        tide_vc_block *larger = realloc(blocks, more * sizeof(*larger));
        has_room = larger != NULL;
        blocks = has_room ? larger : blocks;
        n_room = has_room ? more : n_room;
    }
    if (has_room) {
        size_t i = above(block.address);
        memmove(&blocks[i + 1], &blocks[i], (n_blocks - i) * sizeof(*blocks));
        blocks[i] = block;
        n_blocks++;
    }
    pthread_mutex_unlock(&lock);
    return has_room;
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
    int status = tide_vc_charge(device, whole);
    if (status != TIDE_VC_OK) {
        return status;
    }
    uint64_t address = tide_vc_address_take(whole);
    if (address == 0) {
        goto fail_address;
    }
    if (!add((tide_vc_block){.address = address, .n_bytes = whole, .device = device})) {
        goto fail_add;
    }
    *ret_address = address;
    return TIDE_VC_OK;

fail_add:
    tide_vc_address_give_back(address, whole);
fail_address:
    tide_vc_refund(device, whole);
    return TIDE_VC_MEMORY;
}

int tide_vc_block_place(int device, uint64_t n_bytes, void *pool, uint64_t *ret_address) {
    uint64_t address = tide_vc_address_take(n_bytes);
    tide_vc_block block = {.address = address,
                           .n_bytes = n_bytes,
                           .device = device,
                           .kind = pool != NULL ? TIDE_VC_POOLED : TIDE_VC_BORROWED,
                           .pool = pool};
    if (address == 0) {
        return TIDE_VC_MEMORY;
    }
    if (!add(block)) {
        tide_vc_address_give_back(address, n_bytes);
        return TIDE_VC_MEMORY;
    }
    *ret_address = address;
    return TIDE_VC_OK;
}

bool tide_vc_block_take_out(uint64_t address, tide_vc_block_kind kind, tide_vc_block *ret_block) {
    bool is_found = false;
    pthread_mutex_lock(&lock);
    size_t i = above(address);
    if (i > 0 && blocks[i - 1].address == address && blocks[i - 1].kind == kind) {
        *ret_block = blocks[i - 1];
        memmove(&blocks[i - 1], &blocks[i], (n_blocks - i) * sizeof(*blocks));
        n_blocks--;
        is_found = true;
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

bool tide_vc_block_find(uint64_t address, tide_vc_block *ret_block) {
    bool found = false;
    pthread_mutex_lock(&lock);
    size_t i = above(address);
    if (i > 0 && address - blocks[i - 1].address < blocks[i - 1].n_bytes) {
        *ret_block = blocks[i - 1];
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
