/* inline_internal.h - the steps of every allocation and release, small enough to be compiled into
 * their callers: the table of live blocks, the bins of free ones, nodes and statistics.
 *
 * Only cache_internal.h includes this, at its end; it declares the functions that are not worth
 * inlining.
 */
#ifndef TIDE_ALLOCATOR_INLINE_INTERNAL_H
#define TIDE_ALLOCATOR_INLINE_INTERNAL_H

#include "allocator/cache_internal.h"
#include "common/assert.h"

/* ---- live blocks by address ---- */

/* The slot of the block of an address, unless another block occupies it. Addresses are multiples of
 * 512, so their low bits carry no information; the product mixes all bits into its highest ones. */
static inline size_t tide_cache_table_home(const tide_cache_table *table, uint64_t address) {
    return (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> table->shift);
}

/* Room has been reserved. */
static inline void tide_cache_table_put(tide_cache_table *table, tide_cache_block *block) {
    TIDE_ASSERT(table->n_blocks < table->n_slots - table->n_slots / 8);
    size_t i = tide_cache_table_home(table, block->address);
    while (table->slots[i].block != NULL) {
        TIDE_ASSERT(table->slots[i].address != block->address);
        i = (i + 1) & (table->n_slots - 1);
    }
    table->slots[i] = (tide_cache_slot){block->address, block};
    table->n_blocks++;
}

/* The slot of the address, or the empty slot for it. */
static inline size_t tide_cache_table_slot(const tide_cache_table *table, uint64_t address) {
    size_t i = tide_cache_table_home(table, address);
    while (table->slots[i].block != NULL && table->slots[i].address != address) {
        i = (i + 1) & (table->n_slots - 1);
    }
    return i;
}

/* NULL: no block begins there. */
static inline tide_cache_block *tide_cache_table_find(const tide_cache_table *table,
                                                      uint64_t address) {
    return table->slots[tide_cache_table_slot(table, address)].block;
}

static inline void tide_cache_table_clear(tide_cache_table *table, size_t slot) {
    TIDE_ASSERT(table->slots[slot].block != NULL && table->n_blocks > 0);
    size_t mask = table->n_slots - 1;
    size_t hole = slot;
    /* A search ends at an empty slot, so every follower that it could no longer reach moves back
     * into the hole, and leaves a hole of its own. */
    for (size_t i = (hole + 1) & mask; table->slots[i].block != NULL; i = (i + 1) & mask) {
        size_t home = tide_cache_table_home(table, table->slots[i].address);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            table->slots[hole] = table->slots[i];
            hole = i;
        }
    }
    table->slots[hole].block = NULL;
    table->n_blocks--;
}

static inline void tide_cache_table_remove(tide_cache_table *table, const tide_cache_block *block) {
    size_t slot = tide_cache_table_slot(table, block->address);
    TIDE_ASSERT(table->slots[slot].block == block);
    tide_cache_table_clear(table, slot);
}

/* ---- free blocks ---- */

enum {
    TIDE_BIN_UNIT_SHIFT = 9,   /* sizes count in units of 512 bytes */
    TIDE_BIN_EXACT_UNITS = 64, /* sizes below have a bin of their own */
    TIDE_BIN_EXACT_SHIFT = 6,  /* log2 of that */
    TIDE_BIN_STEP_SHIFT = 5    /* bins to a power of two from there on, as a power of two */
};

static inline size_t tide_cache_bin_of(uint64_t block_bytes) {
    uint64_t units = block_bytes >> TIDE_BIN_UNIT_SHIFT;
    if (units < TIDE_BIN_EXACT_UNITS) {
        return (size_t)units;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(units);
    uint64_t step = (units >> (power - TIDE_BIN_STEP_SHIFT)) & ((1u << TIDE_BIN_STEP_SHIFT) - 1);
    return TIDE_BIN_EXACT_UNITS + ((size_t)(power - TIDE_BIN_EXACT_SHIFT) << TIDE_BIN_STEP_SHIFT) +
           (size_t)step;
}
_Static_assert(TIDE_BIN_EXACT_UNITS + ((54 - TIDE_BIN_EXACT_SHIFT) << TIDE_BIN_STEP_SHIFT) +
                       (1 << TIDE_BIN_STEP_SHIFT) ==
                   TIDE_CACHE_BINS,
               "the largest size has the last bin");

/* The set of the stream; NULL before it was reserved. Most requests name the same stream as the one
 * before, so the last set is tried first. */
static inline tide_cache_set *tide_cache_set_of(tide_cache_bins *bins, tide_stream stream) {
    if (bins->latest == NULL || bins->latest->stream != stream) {
        bins->latest = tide_cache_set_find(bins, stream);
    }
    return bins->latest;
}

static inline void tide_cache_bins_insert(tide_cache_bins *bins, tide_cache_block *block) {
    tide_cache_set *set = tide_cache_set_of(bins, block->segment->stream);
    size_t bin = tide_cache_bin_of(block->block_bytes);
    TIDE_ASSERT(set != NULL && block->state == TIDE_BLOCK_FREE);
    if (set->bins[bin] == NULL) {
        block->left = NULL;
        block->right = NULL;
        set->bins[bin] = block;
        set->full[bin / 64] |= UINT64_C(1) << (bin % 64);
        set->full_words |= 1u << (bin / 64);
    } else {
        tide_cache_bin_insert(&set->bins[bin], block);
    }
    bins->n_blocks++;
}

/* False if the block is not in them. */
static inline bool tide_cache_bins_remove(tide_cache_bins *bins, tide_cache_block *block) {
    tide_cache_set *set = tide_cache_set_of(bins, block->segment->stream);
    size_t bin = tide_cache_bin_of(block->block_bytes);
    if (set == NULL) {
        return false;
    }
    if (set->bins[bin] == block && block->left == NULL && block->right == NULL) {
        set->bins[bin] = NULL;
    } else if (!tide_cache_bin_remove(&set->bins[bin], block)) {
        return false;
    }
    if (set->bins[bin] == NULL) {
        set->full[bin / 64] &= ~(UINT64_C(1) << (bin % 64));
        if (set->full[bin / 64] == 0) {
            set->full_words &= ~(1u << (bin / 64));
        }
    }
    TIDE_ASSERT(bins->n_blocks > 0);
    bins->n_blocks--;
    return true;
}

/* Takes out a block that is in them. */
static inline void tide_cache_bins_take(tide_cache_bins *bins, tide_cache_block *block) {
    bool was_there = tide_cache_bins_remove(bins, block);
    TIDE_ASSERT(was_there && block->state == TIDE_BLOCK_FREE);
}

/* The first bin from `bin` on that is not empty; TIDE_CACHE_BINS: none. The words' own bitmap skips
 * empty words, so this reads two or three of them. */
static inline size_t tide_cache_next_bin(const tide_cache_set *set, size_t bin) {
    size_t word = bin / 64;
    uint64_t bits = set->full[word] & (UINT64_MAX << (bin % 64));
    if (bits == 0) {
        uint32_t words = word + 1 < 32 ? set->full_words & (UINT32_MAX << (word + 1)) : 0;
        if (words == 0) {
            return TIDE_CACHE_BINS;
        }
        word = (size_t)__builtin_ctz(words);
        bits = set->full[word];
    }
    return word * 64 + (size_t)__builtin_ctzll(bits);
}

/* The smallest block of the stream with block_bytes or more, the lowest address on ties; NULL:
 * none.
 */
static inline tide_cache_block *tide_cache_bins_best(tide_cache_bins *bins, tide_stream stream,
                                                     uint64_t block_bytes) {
    const tide_cache_set *set = tide_cache_set_of(bins, stream);
    if (set == NULL) {
        return NULL;
    }
    size_t bin = tide_cache_bin_of(block_bytes);
    if (set->bins[bin] != NULL) {
        return tide_cache_set_at_least(set, block_bytes, 0);
    }
    bin = tide_cache_next_bin(set, bin);
    if (bin == TIDE_CACHE_BINS) {
        return NULL;
    }
    tide_cache_block *block = set->bins[bin];
    TIDE_ASSERT(block != NULL); /* the bitmap is right */
    while (block->left != NULL) {
        block = block->left;
    }
    TIDE_ASSERT(block->block_bytes >= block_bytes);
    return block;
}

/* Whether the rules about oversize blocks let a free block of n_bytes serve a request for a block
 * of wanted_bytes, which fits into it. */
static inline bool tide_cache_may_serve(const tide_cache_config *config, uint64_t wanted_bytes,
                                        uint64_t n_bytes) {
    TIDE_ASSERT(wanted_bytes <= n_bytes);
    return wanted_bytes < config->max_split_bytes
               ? n_bytes < config->max_split_bytes
               : n_bytes - wanted_bytes < config->max_non_split_rounding_bytes;
}

/* ---- nodes ---- */

static inline tide_cache_block *tide_cache_take_block(tide_cache *cache) {
    tide_cache_block *block = cache->nodes.unused_blocks;
    TIDE_ASSERT(cache->nodes.n_unused_blocks > 0 && block != NULL); /* it was reserved */
    cache->nodes.unused_blocks = block->left;
    cache->nodes.n_unused_blocks--;
    /* Field by field: a compound literal zeroes the node with `rep stos`, whose start-up takes
     * longer than these stores. */
    block->address = 0;
    block->block_bytes = 0;
    block->requested_bytes = 0;
    block->segment = NULL;
    block->before = NULL;
    block->after = NULL;
    block->left = NULL;
    block->right = NULL;
    block->uses = NULL;
    block->freed_at_lookup = 0;
    block->stack = TIDE_NONE;
    block->scope = TIDE_NONE;
    block->name = TIDE_NONE;
    block->state = TIDE_BLOCK_FREE;
    block->category = TIDE_UNKNOWN;
    return block;
}

static inline void tide_cache_drop_block(tide_cache *cache, tide_cache_block *block) {
    TIDE_ASSERT(block->uses == NULL && block != cache->nodes.unused_blocks);
    block->left = cache->nodes.unused_blocks;
    cache->nodes.unused_blocks = block;
    cache->nodes.n_unused_blocks++;
}

/* ---- statistics ---- */

static inline void tide_stat_change(tide_stat *stat, int64_t amount) {
    stat->current += amount;
    TIDE_ASSERT(stat->current >= 0);
    if (stat->current > stat->peak) {
        stat->peak = stat->current;
    }
    if (amount > 0) {
        stat->allocated += amount;
    } else {
        stat->freed -= amount;
    }
}

/* Each event updates only these: the current value, the peaks, and the sum added to the pool. The
 * other sums are computed on request (stats.c). */
static inline void tide_stat_come(tide_stat stats[TIDE_N_POOLS], int pool, int64_t amount) {
    tide_stat *all = &stats[TIDE_POOL_ALL];
    tide_stat *own = &stats[pool];
    all->current += amount;
    own->current += amount;
    own->allocated += amount;
    all->peak = all->current > all->peak ? all->current : all->peak;
    own->peak = own->current > own->peak ? own->current : own->peak;
}

static inline void tide_stat_go(tide_stat stats[TIDE_N_POOLS], int pool, int64_t amount) {
    TIDE_ASSERT(amount >= 0 && stats[pool].current >= amount);
    TIDE_ASSERT(stats[TIDE_POOL_ALL].current >= stats[pool].current);
    stats[TIDE_POOL_ALL].current -= amount;
    stats[pool].current -= amount;
}

static inline void tide_stat_add(tide_stat stats[TIDE_N_POOLS], int pool, int64_t amount) {
    if (amount > 0) {
        tide_stat_come(stats, pool, amount);
    } else {
        tide_stat_go(stats, pool, -amount);
    }
}

/* Counts an allocated block. It is also active, but `active` needs no update: it is `allocation`
 * plus the blocks that wait for other streams, so only its peak is kept, and only while some
 * wait. */
static inline void tide_cache_count_alloc(tide_cache *cache, const tide_cache_block *block) {
    tide_cache_stats *stats = &cache->stats;
    int pool = block->segment->pool;
    tide_stat_come(stats->allocation, pool, 1);
    tide_stat_come(stats->allocated_bytes, pool, (int64_t)block->block_bytes);
    tide_stat_come(stats->requested_bytes, pool, (int64_t)block->requested_bytes);
    if (block->block_bytes >= cache->config.max_split_bytes) {
        tide_stat_change(&stats->oversize_allocations, 1);
    }
    if (cache->n_pending[TIDE_POOL_ALL] > 0) {
        tide_cache_raise_active(cache);
    }
}

/* Counts the request for the block's release. */
static inline void tide_cache_count_request(tide_cache *cache, const tide_cache_block *block) {
    tide_cache_stats *stats = &cache->stats;
    int pool = block->segment->pool;
    tide_stat_go(stats->allocation, pool, 1);
    tide_stat_go(stats->allocated_bytes, pool, (int64_t)block->block_bytes);
    if (block->block_bytes >= cache->config.max_split_bytes) {
        tide_stat_change(&stats->oversize_allocations, -1);
    }
}

/* Counts the completion of the block's release. */
static inline void tide_cache_count_completion(tide_cache *cache, const tide_cache_block *block) {
    tide_stat_go(cache->stats.requested_bytes, block->segment->pool,
                 (int64_t)block->requested_bytes);
}

/* Counts a block that waits for other streams between the two; sign -1: it no longer waits. */
static inline void tide_cache_count_pending(tide_cache *cache, const tide_cache_block *block,
                                            int sign) {
    int pool = block->segment->pool;
    int64_t n_bytes = sign * (int64_t)block->block_bytes;
    cache->n_pending[TIDE_POOL_ALL] += sign;
    cache->n_pending[pool] += sign;
    cache->pending_bytes[TIDE_POOL_ALL] += n_bytes;
    cache->pending_bytes[pool] += n_bytes;
    TIDE_ASSERT(cache->n_pending[pool] >= 0 && cache->pending_bytes[pool] >= 0);
}

static inline void tide_cache_count_segment(tide_cache *cache, const tide_cache_segment *segment,
                                            int sign) {
    tide_stat_add(cache->stats.segment, segment->pool, sign);
    tide_stat_add(cache->stats.reserved_bytes, segment->pool, sign * (int64_t)segment->total_bytes);
    if (segment->total_bytes >= cache->config.max_split_bytes) {
        tide_stat_change(&cache->stats.oversize_segments, sign);
    }
}

/* Counts split blocks, which prevent the release of their segment. Blocks of expandable segments
 * are not counted, because their free granules can always be released. */
static inline void tide_cache_count_split(tide_cache *cache, const tide_cache_segment *segment,
                                          int64_t n_blocks, int64_t n_bytes) {
    if (!segment->is_expandable) {
        tide_stat_add(cache->stats.inactive_split, segment->pool, n_blocks);
        tide_stat_add(cache->stats.inactive_split_bytes, segment->pool, n_bytes);
    }
}

#endif
