/* segment.c - the source of a block: the ladder from the cached block to the last attempt to
 * allocate a segment, and the release of segments to the device. */
#include "allocator/cache_internal.h"

#include <stdio.h>

#include "common/assert.h"
#include "common/text/bytes.h"

static bool collects_garbage(const tide_cache *cache) {
    return cache->config.memory_limit_bytes != TIDE_UNLIMITED &&
           cache->config.garbage_collection_threshold > 0.0;
}

static uint64_t reserved_bytes(const tide_cache *cache) {
    return (uint64_t)cache->stats.reserved_bytes[TIDE_POOL_ALL].current;
}

uint64_t tide_cache_limit_left(const tide_cache *cache) {
    uint64_t limit = cache->config.memory_limit_bytes;
    uint64_t reserved = reserved_bytes(cache);
    return limit == TIDE_UNLIMITED ? UINT64_MAX : reserved < limit ? limit - reserved : 0;
}

uint64_t tide_cache_buyable_bytes(tide_cache *cache) {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    if (tide_device_memory_info(cache->device, &free_bytes, &total_bytes, NULL) != TIDE_OK) {
        free_bytes = UINT64_MAX; /* not known */
    }
    tide_device_spill spill;
    tide_device_get_spill(cache->device, &spill);
    uint64_t in_host = spill.limit_bytes - spill.now_bytes;
    free_bytes = in_host > free_bytes ? in_host : free_bytes; /* no segment is in both */
    uint64_t left = tide_cache_limit_left(cache);
    return left < free_bytes ? left : free_bytes;
}

static void record_segment(tide_cache *cache, const tide_cache_segment *segment, tide_action action,
                           const tide_note *note) {
    tide_recorder_append(cache->recorder, (tide_event){.address = segment->address,
                                                       .requested_bytes = segment->total_bytes,
                                                       .block_bytes = segment->total_bytes,
                                                       .stack = note->stack,
                                                       .scope = note->scope,
                                                       .name = TIDE_NONE,
                                                       .action = (uint8_t)action,
                                                       .category = TIDE_UNKNOWN,
                                                       .stream = segment->stream_number});
}

void tide_cache_mark_spill(tide_cache *cache, uint64_t address, const tide_device_spill *before,
                           const tide_note *note) {
    char text[96];
    tide_device_spill now;
    tide_device_get_spill(cache->device, &now);
    if (now.now_bytes == before->now_bytes || cache->recorder == NULL) {
        return;
    }
    (void)snprintf(text, sizeof(text), "%llu bytes of it %s",
                   (unsigned long long)(now.now_bytes - before->now_bytes), TIDE_CACHE_SPILL_MARK);
    tide_recorder_append(cache->recorder,
                         (tide_event){.address = address,
                                      .stack = note->stack,
                                      .scope = note->scope,
                                      .name = tide_recorder_intern(cache->recorder, text),
                                      .action = TIDE_ACTION_MARK,
                                      .category = TIDE_UNKNOWN});
}

/* The smallest sufficient free block of the stream, the lowest address on ties. There is one
 * candidate: when a rule about oversize blocks rejects it, PyTorch also looks no further. */
static tide_cache_block *find_cached(tide_cache *cache, const tide_cache_request *request) {
    tide_cache_bins *bins = &cache->free[request->bins];
    TIDE_ASSERT(tide_lock_is_held(cache->lock));
    if (collects_garbage(cache)) {
        bins->n_lookups++;
    }
    tide_cache_block *block = tide_cache_bins_best(bins, request->stream, request->block_bytes);
    if (block == NULL) {
        return NULL;
    }
    if (block->segment->is_expandable) {
        block = tide_cache_best_expandable(cache, block);
    }
    if (!tide_cache_may_serve(&cache->config, request->block_bytes, block->block_bytes)) {
        return NULL;
    }
    tide_cache_bins_take(bins, block);
    return block;
}

void tide_cache_link_segment(tide_cache *cache, tide_cache_segment *segment) {
    segment->stream_number =
        cache->recorder == NULL ? 0 : tide_recorder_stream(cache->recorder, 0, segment->stream);
    segment->older = cache->newest;
    if (cache->newest != NULL) {
        TIDE_ASSERT(cache->newest->newer == NULL);
        cache->newest->newer = segment;
    }
    cache->newest = segment;
    cache->n_segments++;
}

void tide_cache_unlink_segment(tide_cache *cache, tide_cache_segment *segment) {
    TIDE_ASSERT(cache->n_segments > 0);
    if (segment->newer != NULL) {
        TIDE_ASSERT(segment->newer->older == segment);
        segment->newer->older = segment->older;
    } else {
        TIDE_ASSERT(cache->newest == segment);
        cache->newest = segment->older;
    }
    if (segment->older != NULL) {
        TIDE_ASSERT(segment->older->newer == segment);
        segment->older->newer = segment->newer;
    }
    cache->n_segments--;
}

tide_cache_block *tide_cache_enter_segment(tide_cache *cache, uint64_t address, size_t total_bytes,
                                           tide_stream stream, int bins) {
    tide_cache_segment *segment = tide_cache_take_segment(cache);
    tide_cache_block *block = tide_cache_take_block(cache);
    block->address = address;
    block->block_bytes = total_bytes;
    block->segment = segment;
    block->state = TIDE_BLOCK_FREE;
    segment->address = address;
    segment->total_bytes = total_bytes;
    segment->stream = stream;
    segment->pool = (uint8_t)tide_cache_pool_of(bins);
    segment->bins = (uint8_t)bins;
    segment->first_block = block;
    tide_cache_link_segment(cache, segment);
    cache->n_blocks++;
    tide_cache_count_segment(cache, segment, 1);
    return block;
}

static tide_status buy(tide_cache *cache, const tide_cache_request *request,
                       tide_cache_block **ret_block, tide_error *error) {
    size_t total_bytes = tide_cache_segment_bytes(&cache->config, request->block_bytes);
    if (cache->config.memory_limit_bytes != TIDE_UNLIMITED &&
        reserved_bytes(cache) + total_bytes > cache->config.memory_limit_bytes) {
        return TIDE_DEVICE_OOM; /* the device is not called; oom.c writes the message */
    }
    if (cache->config.expandable_segments) {
        return tide_cache_grow(cache, request, ret_block, error);
    }
    uint64_t address = 0;
    tide_device_spill before;
    tide_device_get_spill(cache->device, &before);
    tide_status status = tide_device_alloc(cache->device, total_bytes, &address, error);
    if (status != TIDE_OK) {
        if (status != TIDE_DEVICE_OOM) {
            tide_error_prefix(error, "buying a segment of %zu bytes", total_bytes);
        }
        return status;
    }
    cache->stats.num_device_alloc++;
    *ret_block =
        tide_cache_enter_segment(cache, address, total_bytes, request->stream, request->bins);
    record_segment(cache, (*ret_block)->segment, TIDE_ACTION_SEGMENT_ALLOC, &request->note);
    tide_cache_mark_spill(cache, address, &before, &request->note);
    return TIDE_OK;
}

/* Whether the free block is the whole of an ordinary segment. */
static bool can_give_back(const tide_cache_block *block) {
    return !tide_cache_is_split(block) && !block->segment->is_expandable;
}

/* Returns the segment of the block to the device. On failure nothing has changed. */
static tide_status give_back(tide_cache *cache, tide_cache_block *block, const tide_note *note,
                             tide_error *error) {
    tide_cache_segment *segment = block->segment;
    TIDE_ASSERT(block->state == TIDE_BLOCK_FREE && can_give_back(block));
    TIDE_ASSERT(block->block_bytes == segment->total_bytes && segment->first_block == block);
    tide_status status = tide_device_release(cache->device, segment->address, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "returning a segment of %llu bytes",
                          (unsigned long long)segment->total_bytes);
        return status;
    }
    cache->stats.num_device_free++;
    tide_cache_bins_take(&cache->free[segment->bins], block);
    record_segment(cache, segment, TIDE_ACTION_SEGMENT_FREE, note);
    tide_cache_count_segment(cache, segment, -1);
    tide_cache_unlink_segment(cache, segment);
    cache->n_blocks--;
    tide_cache_drop_block(cache, block);
    tide_cache_drop_segment(cache, segment);
    return TIDE_OK;
}

static tide_status give_back_pool(tide_cache *cache, int pool, const tide_note *note,
                                  tide_error *error) {
    tide_cache_bins *bins = &cache->free[pool];
    tide_cache_block *block = tide_cache_bins_at_least(bins, 0, 0, 0);
    while (block != NULL) {
        tide_cache_block *next =
            tide_cache_bins_next(bins, block); /* the block may be removed below */
        if (can_give_back(block)) {
            TIDE_TRY(give_back(cache, block, note, error));
        }
        block = next;
    }
    return tide_cache_shrink(cache, pool, note, error);
}

tide_status tide_cache_give_back_all(tide_cache *cache, const tide_note *note, tide_error *error) {
    /* A block that waits keeps its segment, so waiting first releases more segments. */
    TIDE_TRY(tide_cache_wait_for_streams(cache, note, error));
    TIDE_TRY(give_back_pool(cache, TIDE_POOL_LARGE, note, error));
    return give_back_pool(cache, TIDE_POOL_SMALL, note, error);
}

/* Returns oversize blocks of the stream, just enough for the request: one that is large enough, or
 * several from the largest down. `ret_enough`: another attempt to allocate is worthwhile. */
static tide_status give_back_oversize(tide_cache *cache, const tide_cache_request *request,
                                      bool *ret_enough, tide_error *error) {
    size_t max_split_bytes = cache->config.max_split_bytes;
    *ret_enough = false;
    if (max_split_bytes == TIDE_UNLIMITED) {
        return TIDE_OK;
    }
    tide_cache_bins *bins = &cache->free[request->bins];
    uint64_t wanted_bytes =
        request->block_bytes < max_split_bytes ? max_split_bytes : request->block_bytes;
    tide_cache_block *block = tide_cache_bins_at_least(bins, request->stream, wanted_bytes, 0);
    if (block != NULL && block->segment->stream == request->stream &&
        !block->segment->is_expandable) {
        if (can_give_back(block)) {
            *ret_enough = true;
            return give_back(cache, block, &request->note, error);
        }
        return TIDE_OK;
    }
    uint64_t returned_bytes = 0;
    block = tide_cache_bins_below(bins, request->stream, wanted_bytes, 0);
    while (block != NULL && returned_bytes < wanted_bytes &&
           block->segment->stream == request->stream && block->block_bytes >= max_split_bytes) {
        tide_cache_block *smaller =
            tide_cache_bins_below(bins, request->stream, block->block_bytes, block->address);
        if (can_give_back(block)) {
            returned_bytes += block->block_bytes;
            TIDE_TRY(give_back(cache, block, &request->note, error));
        }
        block = smaller;
    }
    *ret_enough = returned_bytes >= wanted_bytes;
    return TIDE_OK;
}

static uint64_t age_of(const tide_cache_bins *bins, const tide_cache_block *block) {
    TIDE_ASSERT(block->freed_at_lookup <= bins->n_lookups);
    return bins->n_lookups - block->freed_at_lookup;
}

/* One round over the large pool: releases unsplit blocks whose age reaches the mean of the
 * remaining ones. `total_age` and `n_left` describe the remaining ones and are updated. */
static tide_status collect_round(tide_cache *cache, const tide_note *note, uint64_t *total_age,
                                 size_t *n_left, uint64_t *returned_bytes, tide_error *error) {
    tide_cache_bins *bins = &cache->free[TIDE_POOL_LARGE];
    double age_limit = (double)*total_age / (double)*n_left;
    tide_cache_block *block = tide_cache_bins_at_least(bins, 0, 0, 0);
    while (block != NULL) {
        tide_cache_block *next = tide_cache_bins_next(bins, block);
        uint64_t age = age_of(bins, block);
        if (can_give_back(block) && (double)age >= age_limit) {
            uint64_t n_bytes = block->block_bytes;
            TIDE_TRY(give_back(cache, block, note, error));
            *returned_bytes += n_bytes;
            TIDE_ASSERT(*total_age >= age && *n_left > 0);
            *total_age -= age;
            --*n_left;
        }
        block = next;
    }
    return TIDE_OK;
}

static tide_status collect_garbage(tide_cache *cache, const tide_note *note, tide_error *error) {
    uint64_t threshold_bytes = (uint64_t)(cache->config.garbage_collection_threshold *
                                          (double)cache->config.memory_limit_bytes);
    if (reserved_bytes(cache) <= threshold_bytes) {
        return TIDE_OK;
    }
    const tide_cache_bins *bins = &cache->free[TIDE_POOL_LARGE];
    uint64_t wanted_bytes = reserved_bytes(cache) - threshold_bytes;
    uint64_t returned_bytes = 0;
    uint64_t total_age = 0;
    size_t n_left = 0;
    for (const tide_cache_block *block = tide_cache_bins_at_least(bins, 0, 0, 0); block != NULL;
         block = tide_cache_bins_next(bins, block)) {
        if (can_give_back(block)) {
            total_age += age_of(bins, block);
            n_left++;
        }
    }
    /* The rounds end when one has released nothing. */
    size_t n_before = n_left + 1;
    while (returned_bytes < wanted_bytes && n_left > 0 && n_left < n_before) {
        n_before = n_left;
        TIDE_TRY(collect_round(cache, note, &total_age, &n_left, &returned_bytes, error));
    }
    return TIDE_OK;
}

tide_status tide_cache_find_block(tide_cache *cache, const tide_cache_request *request,
                                  tide_cache_block **ret_block, tide_error *error) {
    tide_cache_block *block = find_cached(cache, request);
    if (block != NULL) {
        *ret_block = block;
        return TIDE_OK;
    }
    if (collects_garbage(cache)) {
        TIDE_TRY(collect_garbage(cache, &request->note, error));
    }
    tide_status status = buy(cache, request, ret_block, error);
    /* A capture may neither wait for streams nor release segments, so it ends here. */
    if (status != TIDE_DEVICE_OOM || cache->graph.stage == TIDE_GRAPH_CAPTURES) {
        return status;
    }
    bool enough = false;
    TIDE_TRY(give_back_oversize(cache, request, &enough, error));
    if (enough) {
        status = buy(cache, request, ret_block, error);
        if (status != TIDE_DEVICE_OOM) {
            return status;
        }
    }
    TIDE_TRY(tide_cache_give_back_all(cache, &request->note, error));
    cache->stats.num_alloc_retries++;
    return buy(cache, request, ret_block, error);
}
