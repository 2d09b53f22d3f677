/* cache_stats.c - statistics as torch.cuda.memory_stats() defines them. */
#include "allocator/cache_internal.h"

static void add_one(tide_stat *stat, int64_t amount) {
    stat->current += amount;
    if (stat->current > stat->peak) {
        stat->peak = stat->current;
    }
    if (amount > 0) {
        stat->allocated += amount;
    } else {
        stat->freed -= amount;
    }
}

/* Adds `amount` (negative: subtracts) to all and to the pool. */
static void add(tide_stat stats[TIDE_N_POOLS], int pool, int64_t amount) {
    add_one(&stats[TIDE_POOL_ALL], amount);
    add_one(&stats[pool], amount);
}

void tide_cache_count_alloc(tide_cache *cache, const tide_cache_block *block, int sign) {
    int pool = block->segment->pool;
    add(cache->stats.allocation, pool, sign);
    add(cache->stats.allocated_bytes, pool, sign * (int64_t)block->block_bytes);
    if (block->block_bytes >= cache->config.max_split_bytes) {
        add_one(&cache->stats.oversize_allocations, sign);
    }
}

void tide_cache_count_active(tide_cache *cache, const tide_cache_block *block, int sign) {
    int pool = block->segment->pool;
    add(cache->stats.active, pool, sign);
    add(cache->stats.active_bytes, pool, sign * (int64_t)block->block_bytes);
    add(cache->stats.requested_bytes, pool, sign * (int64_t)block->requested_bytes);
}

void tide_cache_count_segment(tide_cache *cache, const tide_cache_segment *segment, int sign) {
    add(cache->stats.segment, segment->pool, sign);
    add(cache->stats.reserved_bytes, segment->pool, sign * (int64_t)segment->total_bytes);
    if (segment->total_bytes >= cache->config.max_split_bytes) {
        add_one(&cache->stats.oversize_segments, sign);
    }
}

void tide_cache_count_split(tide_cache *cache, int pool, int64_t n_blocks, int64_t n_bytes) {
    add(cache->stats.inactive_split, pool, n_blocks);
    add(cache->stats.inactive_split_bytes, pool, n_bytes);
}

void tide_cache_get_stats(tide_cache *cache, tide_cache_stats *ret_stats) {
    pthread_mutex_lock(&cache->lock);
    *ret_stats = cache->stats;
    pthread_mutex_unlock(&cache->lock);
}

static void reset(tide_stat stats[TIDE_N_POOLS]) {
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        stats[pool].peak = stats[pool].current;
    }
}

void tide_cache_reset_peaks(tide_cache *cache) {
    pthread_mutex_lock(&cache->lock);
    tide_cache_stats *stats = &cache->stats;
    reset(stats->requested_bytes);
    reset(stats->allocated_bytes);
    reset(stats->active_bytes);
    reset(stats->reserved_bytes);
    reset(stats->inactive_split_bytes);
    reset(stats->allocation);
    reset(stats->segment);
    reset(stats->active);
    reset(stats->inactive_split);
    stats->oversize_allocations.peak = stats->oversize_allocations.current;
    stats->oversize_segments.peak = stats->oversize_segments.current;
    pthread_mutex_unlock(&cache->lock);
}
