/* replay_queries.c - a replay's queries about the blocks of a cache. */
#include "allocator/cache_internal.h"
#include "allocator/replay_friend.h"
#include "common/assert.h"

void tide_cache_describe_block(tide_cache *cache, uint64_t address, const tide_block_row *row) {
    tide_cache_block *block = tide_cache_table_find(&cache->live, address);
    TIDE_ASSERT(block != NULL && row->category < TIDE_MAX_CATEGORIES);
    block->stack = row->stack;
    block->scope = row->scope;
    block->name = row->name;
    block->category = row->category;
}

const tide_cache_stats *tide_cache_peek_stats(const tide_cache *cache) {
    return &cache->stats;
}

/* Bytes of a free block that could be released: all of it if it is a whole segment, whole granules
 * in an expandable one. */
static uint64_t returnable_bytes(const tide_cache *cache, const tide_cache_block *block) {
    const tide_cache_segment *segment = block->segment;
    if (!segment->is_expandable) {
        return tide_cache_is_split(block) ? 0 : block->block_bytes;
    }
    uint64_t granule_bytes = tide_cache_granule(cache, segment->pool);
    uint64_t offset = block->address - segment->address;
    uint64_t begin = (offset + granule_bytes - 1) / granule_bytes * granule_bytes;
    uint64_t end = (offset + block->block_bytes) / granule_bytes * granule_bytes;
    return end > begin ? end - begin : 0;
}

uint64_t tide_cache_pinned_bytes(const tide_cache *cache) {
    uint64_t n_bytes = 0;
    for (int pool = TIDE_POOL_SMALL; pool < TIDE_N_POOLS; pool++) {
        const tide_cache_bins *bins = &cache->free[pool];
        for (const tide_cache_block *block = tide_cache_bins_at_least(bins, 0, 0, 0); block != NULL;
             block = tide_cache_bins_next(bins, block)) {
            n_bytes += block->block_bytes - returnable_bytes(cache, block);
        }
    }
    return n_bytes;
}

tide_cache_wanted tide_cache_wanted_by(const tide_cache *cache, size_t requested_bytes,
                                       tide_stream stream) {
    size_t block_bytes = tide_cache_round_bytes(&cache->config, requested_bytes);
    return (tide_cache_wanted){.block_bytes = block_bytes,
                               .pool = block_bytes <= cache->config.small_bytes ? TIDE_POOL_SMALL
                                                                                : TIDE_POOL_LARGE,
                               .stream = stream};
}

bool tide_cache_has_cached(tide_cache *cache, const tide_cache_wanted *wanted) {
    const tide_cache_block *block =
        tide_cache_bins_best(&cache->free[wanted->pool], wanted->stream, wanted->block_bytes);
    return block != NULL &&
           tide_cache_may_serve(&cache->config, wanted->block_bytes, block->block_bytes);
}

/* ---- as things would be with all waiting releases completed ---- */

static bool is_free_then(const tide_cache_block *block) {
    return block->state == TIDE_BLOCK_FREE || block->state == TIDE_BLOCK_PENDING_FREE;
}

static bool is_returned_then(const tide_cache_segment *segment) {
    const tide_cache_block *block = segment->first_block;
    while (block != NULL && is_free_then(block)) {
        block = block->after;
    }
    return block == NULL && !segment->is_expandable;
}

bool tide_cache_would_serve(const tide_cache *cache, uint64_t address,
                            const tide_cache_wanted *wanted) {
    const tide_cache_block *block = tide_cache_table_find(&cache->live, address);
    if (block == NULL || block->segment->pool != wanted->pool ||
        block->segment->stream != wanted->stream || is_returned_then(block->segment)) {
        return false;
    }
    while (block->before != NULL && is_free_then(block->before)) {
        block = block->before;
    }
    uint64_t n_bytes = 0;
    for (; block != NULL && is_free_then(block); block = block->after) {
        n_bytes += block->block_bytes;
    }
    return n_bytes >= wanted->block_bytes &&
           tide_cache_may_serve(&cache->config, wanted->block_bytes, n_bytes);
}

/* Emptying the cache returns `a` before `b`: it walks the large pool first, and in each pool the
 * free blocks by stream, bytes and address. */
static bool goes_before(const tide_cache_segment *a, const tide_cache_segment *b) {
    if (a->pool != b->pool) {
        return a->pool == TIDE_POOL_LARGE;
    }
    if (a->stream != b->stream) {
        return a->stream < b->stream;
    }
    return a->total_bytes != b->total_bytes ? a->total_bytes < b->total_bytes
                                            : a->address < b->address;
}

const tide_cache_segment *tide_cache_next_returned(const tide_cache *cache,
                                                   const tide_cache_segment *last) {
    const tide_cache_segment *next = NULL;
    for (const tide_cache_segment *segment = cache->newest; segment != NULL;
         segment = segment->older) {
        if ((last == NULL || goes_before(last, segment)) &&
            (next == NULL || goes_before(segment, next)) && is_returned_then(segment)) {
            next = segment;
        }
    }
    return next;
}

uint64_t tide_cache_segment_address(const tide_cache_segment *segment) {
    return segment->address;
}
