/* check.c - checks every invariant of a cache. */
#include <inttypes.h>

#include "allocator/cache_internal.h"

/* The counts of a walk over all segments, to be compared with those of the cache. */
typedef struct recount {
    tide_cache_stats stats; /* only `current` is filled in */
    size_t n_segments;
    size_t n_ranges; /* expandable ones among them */
    size_t n_blocks;
    size_t n_live;
    size_t n_free[TIDE_N_CACHE_BINS];
    size_t n_uses;    /* of all blocks by other streams */
    size_t n_waiting; /* of these, uses of blocks whose release is requested */
} recount;

/* Every violation is a TIDE_INVALID that begins with the place. */
#define VIOLATED(error, block, what)                                                               \
    tide_fail(error, TIDE_INVALID, "cache check: block 0x%" PRIx64 " of %" PRIu64 " bytes: %s",    \
              (block)->address, (block)->block_bytes, what)

static void count(tide_stat stats[TIDE_N_POOLS], int pool, uint64_t amount) {
    stats[TIDE_POOL_ALL].current += (int64_t)amount;
    stats[pool].current += (int64_t)amount;
}

static void count_block(const tide_cache *cache, const tide_cache_block *block, recount *found) {
    tide_cache_stats *stats = &found->stats;
    int pool = block->segment->pool;
    found->n_blocks++;
    if (block->state == TIDE_BLOCK_UNMAPPED) {
        return;
    }
    if (block->state == TIDE_BLOCK_FREE) {
        found->n_free[block->segment->bins]++;
        if (tide_cache_is_split(block) && !block->segment->is_expandable) {
            count(stats->inactive_split, pool, 1);
            count(stats->inactive_split_bytes, pool, block->block_bytes);
        }
        return;
    }
    found->n_live++;
    count(stats->active, pool, 1);
    count(stats->active_bytes, pool, block->block_bytes);
    count(stats->requested_bytes, pool, block->requested_bytes);
    if (block->state == TIDE_BLOCK_ALLOCATED) {
        count(stats->allocation, pool, 1);
        count(stats->allocated_bytes, pool, block->block_bytes);
        stats->oversize_allocations.current +=
            block->block_bytes >= cache->config.max_split_bytes ? 1 : 0;
    }
}

static tide_status check_free_block(const tide_cache *cache, const tide_cache_block *block,
                                    tide_error *error) {
    const tide_cache_bins *bins = &cache->free[block->segment->bins];
    if (tide_cache_bins_at_least(bins, block->segment->stream, block->block_bytes,
                                 block->address) != block) {
        return VIOLATED(error, block, "free, but not found among the free blocks");
    }
    if (block->requested_bytes != 0) {
        return VIOLATED(error, block, "free, but has requested bytes");
    }
    if (block->uses != NULL) {
        return VIOLATED(error, block, "free, but used by another stream");
    }
    if (block->after != NULL && block->after->state == TIDE_BLOCK_FREE) {
        return VIOLATED(error, block, "free, and so is its neighbour: not coalesced");
    }
    if (block->freed_at_lookup > bins->n_lookups) {
        return VIOLATED(error, block, "was freed in the future");
    }
    return TIDE_OK;
}

static bool has_queue(const tide_cache *cache, const tide_cache_queue *wanted) {
    const tide_cache_queue *queue = cache->streams.queues;
    while (queue != NULL && queue != wanted) {
        queue = queue->next;
    }
    return queue != NULL;
}

/* Every use is by another stream, and no stream is in the list twice. */
static tide_status check_uses(const tide_cache *cache, const tide_cache_block *block,
                              recount *found, tide_error *error) {
    bool is_waiting = block->state == TIDE_BLOCK_PENDING_FREE;
    if (is_waiting && block->uses == NULL) {
        return VIOLATED(error, block, "waits for no stream");
    }
    for (const tide_cache_use *use = block->uses; use != NULL; use = use->next) {
        if (use->block != block || !has_queue(cache, use->queue) ||
            use->queue->stream == block->segment->stream) {
            return VIOLATED(error, block, "a use by another stream is broken");
        }
        if (is_waiting && use->event == NULL) {
            return VIOLATED(error, block, "waits without an event");
        }
        for (const tide_cache_use *other = use->next; other != NULL; other = other->next) {
            if (other->queue == use->queue) {
                return VIOLATED(error, block, "used twice by one stream");
            }
        }
        found->n_uses++;
        found->n_waiting += is_waiting ? 1 : 0;
    }
    return TIDE_OK;
}

static tide_status check_live_block(const tide_cache *cache, const tide_cache_block *block,
                                    recount *found, tide_error *error) {
    if (tide_cache_table_find(&cache->live, block->address) != block) {
        return VIOLATED(error, block, "live, but not found by its address");
    }
    if (block->requested_bytes == 0 || block->requested_bytes > block->block_bytes) {
        return VIOLATED(error, block, "requested bytes are 0 or more than the block's");
    }
    if (block->state >= TIDE_N_BLOCK_STATES || block->category >= TIDE_MAX_CATEGORIES) {
        return VIOLATED(error, block, "state or category out of range");
    }
    return check_uses(cache, block, found, error);
}

static tide_status check_unmapped_block(const tide_cache *cache, const tide_cache_block *block,
                                        tide_error *error) {
    const tide_cache_segment *range = block->segment;
    const uint64_t granule_bytes = range->pool == TIDE_POOL_SMALL
                                       ? cache->config.small_segment_bytes
                                       : cache->config.large_segment_bytes;
    if (!range->is_expandable) {
        return VIOLATED(error, block, "unmapped, in a segment that was bought");
    }
    if ((block->address - range->address) % granule_bytes != 0 ||
        block->block_bytes % granule_bytes != 0) {
        return VIOLATED(error, block, "unmapped, but not whole granules");
    }
    if (block->after != NULL && block->after->state == TIDE_BLOCK_UNMAPPED) {
        return VIOLATED(error, block, "unmapped, and so is its neighbour");
    }
    if (block->requested_bytes != 0 || block->uses != NULL) {
        return VIOLATED(error, block, "unmapped, but in use");
    }
    return TIDE_OK;
}

/* The list holds exactly the unmapped blocks of the range, by address; all others are mapped. */
static tide_status check_range(const tide_cache *cache, const tide_cache_segment *range,
                               tide_error *error) {
    uint64_t unmapped_bytes = 0;
    size_t n_unmapped = 0;
    const tide_cache_block *listed = range->first_unmapped;
    const tide_cache_block *lower = NULL;
    for (const tide_cache_block *block = range->first_block; block != NULL; block = block->after) {
        if (block->state != TIDE_BLOCK_UNMAPPED) {
            continue;
        }
        if (listed != block || block->left != lower) {
            return VIOLATED(error, block, "unmapped, but not in its place in the range's list");
        }
        lower = block;
        listed = block->right;
        unmapped_bytes += block->block_bytes;
        n_unmapped++;
    }
    if (listed != NULL || n_unmapped != range->n_unmapped ||
        unmapped_bytes != range->total_bytes - range->mapped_bytes) {
        return tide_fail(error, TIDE_INVALID,
                         "cache check: range 0x%" PRIx64 ": %zu unmapped blocks of %" PRIu64
                         " bytes, but %zu and %" PRIu64 " believed",
                         range->address, n_unmapped, unmapped_bytes, range->n_unmapped,
                         range->total_bytes - range->mapped_bytes);
    }
    const tide_cache_segment *found = cache->ranges;
    while (found != NULL && found != range) {
        found = found->next_range;
    }
    if (found == NULL ||
        (range->next_range != NULL && range->next_range->address <= range->address)) {
        return tide_fail(error, TIDE_INVALID,
                         "cache check: range 0x%" PRIx64 ": the list of ranges is broken",
                         range->address);
    }
    return TIDE_OK;
}

static size_t count_ranges(const tide_cache *cache) {
    size_t n_ranges = 0;
    for (const tide_cache_segment *range = cache->ranges; range != NULL;
         range = range->next_range) {
        n_ranges++;
    }
    return n_ranges;
}

static tide_status check_segment(const tide_cache *cache, const tide_cache_segment *segment,
                                 recount *found, tide_error *error) {
    if (segment->pool != TIDE_POOL_SMALL && segment->pool != TIDE_POOL_LARGE) {
        return tide_fail(error, TIDE_INVALID, "cache check: segment 0x%" PRIx64 ": no pool %d",
                         segment->address, segment->pool);
    }
    uint64_t end = segment->address;
    const tide_cache_block *before = NULL;
    for (const tide_cache_block *block = segment->first_block; block != NULL;
         block = block->after) {
        if (block->address != end || block->segment != segment || block->before != before) {
            return VIOLATED(error, block, "does not follow its neighbour in its segment");
        }
        if (block->block_bytes == 0 || block->block_bytes % cache->config.min_block_bytes != 0) {
            return VIOLATED(error, block, "not a multiple of the smallest block");
        }
        if (block->state == TIDE_BLOCK_FREE) {
            TIDE_TRY(check_free_block(cache, block, error));
        } else if (block->state == TIDE_BLOCK_UNMAPPED) {
            TIDE_TRY(check_unmapped_block(cache, block, error));
        } else {
            TIDE_TRY(check_live_block(cache, block, found, error));
        }
        count_block(cache, block, found);
        end += block->block_bytes;
        before = block;
    }
    if (end != segment->address + segment->total_bytes) {
        return tide_fail(error, TIDE_INVALID,
                         "cache check: segment 0x%" PRIx64 " of %" PRIu64
                         " bytes: its blocks cover %" PRIu64,
                         segment->address, segment->total_bytes, end - segment->address);
    }
    found->n_segments++;
    if (segment->is_expandable) {
        found->n_ranges++;
        count(found->stats.reserved_bytes, segment->pool, segment->mapped_bytes);
        return check_range(cache, segment, error);
    }
    count(found->stats.segment, segment->pool, 1);
    count(found->stats.reserved_bytes, segment->pool, segment->total_bytes);
    found->stats.oversize_segments.current +=
        segment->total_bytes >= cache->config.max_split_bytes ? 1 : 0;
    return TIDE_OK;
}

static tide_status check_list(const tide_cache *cache, recount *found, tide_error *error) {
    const tide_cache_segment *newer = NULL;
    for (const tide_cache_segment *segment = cache->newest; segment != NULL;
         segment = segment->older) {
        if (segment->newer != newer) {
            return tide_fail(error, TIDE_INVALID,
                             "cache check: segment 0x%" PRIx64 ": the list of segments is broken",
                             segment->address);
        }
        newer = segment;
        TIDE_TRY(check_segment(cache, segment, found, error));
    }
    return TIDE_OK;
}

static tide_status check_number(const char *what, size_t believed, size_t counted,
                                tide_error *error) {
    return believed == counted
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "cache check: %s: %zu believed, %zu counted", what,
                           believed, counted);
}

static bool is_use_of(const tide_cache_block *block, const tide_cache_use *wanted) {
    const tide_cache_use *use = block->uses;
    while (use != NULL && use != wanted) {
        use = use->next;
    }
    return use != NULL;
}

/* Only uses of waiting blocks are in a queue, and its list ends at `last`. */
static tide_status check_queue(const tide_cache *cache, const tide_cache_queue *queue,
                               size_t *n_waiting, tide_error *error) {
    const tide_cache_use *last = NULL;
    for (const tide_cache_queue *other = queue->next; other != NULL; other = other->next) {
        if (other->stream == queue->stream) {
            return tide_fail(error, TIDE_INVALID, "cache check: two queues for stream 0x%" PRIx64,
                             queue->stream);
        }
    }
    for (const tide_cache_use *use = queue->first;
         use != NULL && *n_waiting <= cache->streams.n_waiting; use = use->later) {
        if (use->queue != queue || use->block->state != TIDE_BLOCK_PENDING_FREE ||
            !is_use_of(use->block, use)) {
            return tide_fail(error, TIDE_INVALID,
                             "cache check: stream 0x%" PRIx64 ": what waits for it is broken",
                             queue->stream);
        }
        last = use;
        ++*n_waiting;
    }
    if (last != queue->last || queue->n_uses == 0) {
        return tide_fail(error, TIDE_INVALID, "cache check: stream 0x%" PRIx64 ": a broken queue",
                         queue->stream);
    }
    return TIDE_OK;
}

static tide_status check_streams(const tide_cache *cache, const recount *found, tide_error *error) {
    size_t n_uses = 0;
    size_t n_waiting = 0;
    for (const tide_cache_queue *queue = cache->streams.queues; queue != NULL;
         queue = queue->next) {
        TIDE_TRY(check_queue(cache, queue, &n_waiting, error));
        n_uses += queue->n_uses;
    }
    for (const tide_cache_use *use = cache->streams.spare_events; use != NULL; use = use->next) {
        if (use->event == NULL) {
            return tide_fail(error, TIDE_INVALID, "cache check: a spare event is missing");
        }
    }
    TIDE_TRY(check_number("uses by other streams", n_uses, found->n_uses, error));
    TIDE_TRY(check_number("uses in queues", n_waiting, found->n_waiting, error));
    return check_number("uses that wait", cache->streams.n_waiting, found->n_waiting, error);
}

/* Visits the bins in order: keys rise, and the count is right. */
static tide_status check_bins(const tide_cache *cache, int number, size_t n_free,
                              tide_error *error) {
    const tide_cache_bins *bins = &cache->free[number];
    size_t n_blocks = 0;
    const tide_cache_block *block = tide_cache_bins_at_least(bins, 0, 0, 0);
    while (block != NULL && n_blocks <= n_free) {
        if (block->state != TIDE_BLOCK_FREE || block->segment->bins != number) {
            return VIOLATED(error, block, "among the free blocks of a pool that it is not in");
        }
        n_blocks++;
        block = tide_cache_bins_next(bins, block);
    }
    TIDE_TRY(check_number("free blocks in a pool's order", n_blocks, n_free, error));
    return check_number("free blocks of a pool", bins->n_blocks, n_free, error);
}

static tide_status check_stat(const char *what, const tide_stat *believed, const tide_stat *counted,
                              tide_error *error) {
    if (believed->current != counted->current) {
        return tide_fail(error, TIDE_INVALID,
                         "cache check: %s: %" PRId64 " believed, %" PRId64 " counted", what,
                         believed->current, counted->current);
    }
    if (believed->current > believed->peak || believed->freed < 0 ||
        believed->allocated - believed->freed != believed->current) {
        return tide_fail(error, TIDE_INVALID,
                         "cache check: %s: current %" PRId64 ", peak %" PRId64 ", came %" PRId64
                         ", went %" PRId64 " do not fit together",
                         what, believed->current, believed->peak, believed->allocated,
                         believed->freed);
    }
    return TIDE_OK;
}

static tide_status check_stats(const tide_cache_stats *believed, const tide_cache_stats *counted,
                               tide_error *error) {
    for (int pool = 0; pool < TIDE_N_POOLS; pool++) {
        const struct {
            const char *what;
            const tide_stat *believed;
            const tide_stat *counted;
        } STATS[] = {
            {"requested_bytes", believed->requested_bytes, counted->requested_bytes},
            {"allocated_bytes", believed->allocated_bytes, counted->allocated_bytes},
            {"active_bytes", believed->active_bytes, counted->active_bytes},
            {"reserved_bytes", believed->reserved_bytes, counted->reserved_bytes},
            {"inactive_split_bytes", believed->inactive_split_bytes, counted->inactive_split_bytes},
            {"allocation", believed->allocation, counted->allocation},
            {"segment", believed->segment, counted->segment},
            {"active", believed->active, counted->active},
            {"inactive_split", believed->inactive_split, counted->inactive_split},
        };
        for (size_t i = 0; i < sizeof(STATS) / sizeof(STATS[0]); i++) {
            TIDE_TRY(check_stat(STATS[i].what, &STATS[i].believed[pool], &STATS[i].counted[pool],
                                error));
        }
    }
    TIDE_TRY(check_stat("oversize_allocations", &believed->oversize_allocations,
                        &counted->oversize_allocations, error));
    return check_stat("oversize_segments", &believed->oversize_segments,
                      &counted->oversize_segments, error);
}

static tide_status check_locked(const tide_cache *cache, tide_error *error) {
    recount found = {.n_segments = 0};
    tide_cache_stats believed;
    TIDE_TRY(check_list(cache, &found, error));
    TIDE_TRY(check_number("segments", cache->n_segments, found.n_segments, error));
    TIDE_TRY(check_number("expandable segments", count_ranges(cache), found.n_ranges, error));
    TIDE_TRY(check_number("blocks", cache->n_blocks, found.n_blocks, error));
    TIDE_TRY(check_number("live blocks by address", cache->live.n_blocks, found.n_live, error));
    TIDE_TRY(tide_cache_table_check(&cache->live, error));
    for (int i = TIDE_POOL_SMALL; i < TIDE_N_CACHE_BINS; i++) {
        TIDE_TRY(tide_cache_bins_check(&cache->free[i], error));
        TIDE_TRY(check_bins(cache, i, found.n_free[i], error));
    }
    TIDE_TRY(check_streams(cache, &found, error));
    tide_cache_settle_stats(cache, &believed);
    return check_stats(&believed, &found.stats, error);
}

tide_status tide_cache_check(tide_cache *cache, tide_error *error) {
    tide_lock_acquire(cache->lock);
    tide_status status = check_locked(cache, error);
    tide_lock_release(cache->lock);
    return status;
}
