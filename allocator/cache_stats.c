/* cache_stats.c - statistics as torch.cuda.memory_stats() defines them. */
#include "allocator/cache_internal.h"

static void settle(tide_stat stats[TIDE_N_POOLS]) {
    tide_stat *all = &stats[TIDE_POOL_ALL];
    all->allocated = 0;
    for (int pool = TIDE_POOL_ALL + 1; pool < TIDE_N_POOLS; pool++) {
        stats[pool].freed = stats[pool].allocated - stats[pool].current;
        all->allocated += stats[pool].allocated;
    }
    all->freed = all->allocated - all->current;
}

void tide_cache_settle_stats(const tide_cache *cache, tide_cache_stats *ret_stats) {
    *ret_stats = cache->stats;
    settle(ret_stats->requested_bytes);
    settle(ret_stats->allocated_bytes);
    settle(ret_stats->active_bytes);
    settle(ret_stats->reserved_bytes);
    settle(ret_stats->inactive_split_bytes);
    settle(ret_stats->allocation);
    settle(ret_stats->segment);
    settle(ret_stats->active);
    settle(ret_stats->inactive_split);
}

void tide_cache_get_stats(tide_cache *cache, tide_cache_stats *ret_stats) {
    pthread_mutex_lock(cache->lock);
    tide_cache_settle_stats(cache, ret_stats);
    pthread_mutex_unlock(cache->lock);
}

static void reset(tide_stat stats[TIDE_N_POOLS]) {
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        stats[pool].peak = stats[pool].current;
    }
}

void tide_cache_reset_peaks(tide_cache *cache) {
    pthread_mutex_lock(cache->lock);
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
    pthread_mutex_unlock(cache->lock);
}
