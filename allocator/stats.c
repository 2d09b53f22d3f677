/* stats.c - statistics as torch.cuda.memory_stats() defines them. */
#include "allocator/cache_internal.h"

/* Fills in the sums that counting leaves out, because they follow from the others: freed is the sum
 * added minus the current value, and TIDE_POOL_ALL is the sum of the pools. */
static void settle(tide_stat stats[TIDE_N_POOLS]) {
    tide_stat *all = &stats[TIDE_POOL_ALL];
    all->allocated = 0;
    for (int pool = TIDE_POOL_ALL + 1; pool < TIDE_N_POOLS; pool++) {
        stats[pool].freed = stats[pool].allocated - stats[pool].current;
        all->allocated += stats[pool].allocated;
    }
    all->freed = all->allocated - all->current;
}

void tide_cache_raise_active(tide_cache *cache) {
    tide_cache_stats *stats = &cache->stats;
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        int64_t n_blocks = stats->allocation[pool].current + cache->n_pending[pool];
        int64_t n_bytes = stats->allocated_bytes[pool].current + cache->pending_bytes[pool];
        tide_stat *active = &stats->active[pool];
        tide_stat *active_bytes = &stats->active_bytes[pool];
        active->peak = n_blocks > active->peak ? n_blocks : active->peak;
        active_bytes->peak = n_bytes > active_bytes->peak ? n_bytes : active_bytes->peak;
    }
}

/* Active means allocated or waiting. While no block waits, both have the same peak, so the peak of
 * active is raised only while one waits. */
static void settle_active(tide_stat active[TIDE_N_POOLS], const tide_stat allocated[TIDE_N_POOLS],
                          const int64_t pending[TIDE_N_POOLS]) {
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        active[pool].current = allocated[pool].current + pending[pool];
        active[pool].allocated = allocated[pool].allocated;
        active[pool].peak =
            active[pool].peak > allocated[pool].peak ? active[pool].peak : allocated[pool].peak;
    }
}

void tide_cache_settle_stats(const tide_cache *cache, tide_cache_stats *ret_stats) {
    *ret_stats = cache->stats;
    settle_active(ret_stats->active, ret_stats->allocation, cache->n_pending);
    settle_active(ret_stats->active_bytes, ret_stats->allocated_bytes, cache->pending_bytes);
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
    tide_lock_acquire(cache->lock);
    tide_cache_settle_stats(cache, ret_stats);
    tide_lock_release(cache->lock);
}

static void reset(tide_stat stats[TIDE_N_POOLS]) {
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        stats[pool].peak = stats[pool].current;
    }
}

void tide_cache_reset_peaks(tide_cache *cache) {
    tide_lock_acquire(cache->lock);
    tide_cache_stats *stats = &cache->stats;
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        stats->active[pool].peak = 0;
        stats->active_bytes[pool].peak = 0;
    }
    reset(stats->requested_bytes);
    reset(stats->allocated_bytes);
    reset(stats->reserved_bytes);
    reset(stats->inactive_split_bytes);
    reset(stats->allocation);
    reset(stats->segment);
    reset(stats->inactive_split);
    tide_cache_raise_active(cache);
    stats->oversize_allocations.peak = stats->oversize_allocations.current;
    stats->oversize_segments.peak = stats->oversize_segments.current;
    tide_lock_release(cache->lock);
}
