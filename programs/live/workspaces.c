#include "programs/live/workspaces.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/event.h"
#include "programs/live/record.h"

/* Recorded live workspaces, each at a place given by its address. One that is evicted by another is
 * recorded again at its next call, which is harmless. */
enum { N_PLACES = 64, BLOCK_SHIFT = 9 };
static _Atomic uint64_t told[N_PLACES];

static _Atomic uint64_t *place_of(uint64_t address) {
    return &told[(address >> BLOCK_SHIFT ^ address >> (2 * BLOCK_SHIFT)) % N_PLACES];
}

void tide_live_workspace_lent(const void *address, const char *name) {
    uint64_t block = (uint64_t)(uintptr_t)address;
    bool is_new = block != 0 && tide_live_is_open() &&
                  atomic_exchange_explicit(place_of(block), block, memory_order_relaxed) != block;
    if (is_new) {
        tide_live_label(&(tide_live_label_row){.address = block,
                                               .category = tide_live_text("workspace"),
                                               .name = tide_live_text(name),
                                               .certainty = TIDE_CERTAINTY_NAMED});
    }
}

void tide_live_workspace_freed(uint64_t address) {
    _Atomic uint64_t *place = place_of(address);
    if (atomic_load_explicit(place, memory_order_relaxed) == address) {
        atomic_store_explicit(place, 0, memory_order_relaxed);
    }
}
