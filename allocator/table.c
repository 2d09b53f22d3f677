/* table.c - how the table of live blocks grows; searching it is inline. */
#include <inttypes.h>

#include "allocator/cache_internal.h"
#include "common/assert.h"

enum { FIRST_SHIFT = 55 }; /* 512 slots: 8 KiB */

static tide_status make_slots(tide_cache_table *table, const tide_hostmem *mem, unsigned shift) {
    tide_cache_table made = {.shift = shift, .n_slots = (size_t)1 << (64 - shift)};
    made.slots = tide_hostmem_zeroed(mem, made.n_slots, sizeof(*made.slots));
    if (made.slots == NULL) {
        return TIDE_NO_MEMORY;
    }
    *table = made;
    return TIDE_OK;
}

tide_status tide_cache_table_init(tide_cache_table *table, const tide_hostmem *mem) {
    return make_slots(table, mem, FIRST_SHIFT);
}

void tide_cache_table_fini(tide_cache_table *table, const tide_hostmem *mem) {
    mem->release(mem->ctx, table->slots);
    *table = (tide_cache_table){.slots = NULL};
}

static tide_status grow(tide_cache_table *table, const tide_hostmem *mem, size_t n_blocks) {
    unsigned shift = table->shift;
    while (n_blocks > ((size_t)1 << (64 - shift)) / 2) {
        shift--;
    }
    TIDE_ASSERT(shift < table->shift);
    tide_cache_table larger;
    TIDE_TRY(make_slots(&larger, mem, shift));
    for (size_t i = 0; i < table->n_slots; i++) {
        if (table->slots[i].block != NULL) {
            tide_cache_table_put(&larger, table->slots[i].block);
        }
    }
    TIDE_ASSERT(larger.n_blocks == table->n_blocks);
    mem->release(mem->ctx, table->slots);
    *table = larger;
    return TIDE_OK;
}

tide_status tide_cache_table_reserve(tide_cache_table *table, const tide_hostmem *mem,
                                     size_t n_blocks) {
    size_t n_needed = table->n_blocks + n_blocks;
    if (n_needed <= table->n_slots / 2 || grow(table, mem, n_needed) == TIDE_OK) {
        return TIDE_OK;
    }
    /* Growing failed. A fuller table still works, only with longer searches; but one slot in eight
     * stays empty, because an empty slot ends a search. */
    return n_needed <= table->n_slots - table->n_slots / 8 ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_cache_table_check(const tide_cache_table *table, tide_error *error) {
    size_t n_blocks = 0;
    for (size_t i = 0; i < table->n_slots; i++) {
        const tide_cache_slot *slot = &table->slots[i];
        if (slot->block == NULL) {
            continue;
        }
        n_blocks++;
        if (slot->block->address != slot->address ||
            tide_cache_table_slot(table, slot->address) != i) {
            return tide_fail(error, TIDE_INVALID,
                             "cache check: live blocks: slot %zu with address 0x%" PRIx64
                             " is not where a search ends",
                             i, slot->address);
        }
    }
    return n_blocks == table->n_blocks
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "cache check: live blocks: %zu believed, %zu counted", table->n_blocks,
                           n_blocks);
}
