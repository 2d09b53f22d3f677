/* expandable.c - expandable segments. Each stream and pool has a range of reserved addresses.
 * Memory is mapped to a part of it when a request needs it, and unmapped when all cached memory is
 * released. A range is a segment whose blocks may also be unmapped. Those are in no bin but in the
 * range's own list, by address, linked by `left` (lower) and `right` (higher). Two unmapped blocks
 * are never neighbours.
 */
#include "allocator/cache_internal.h"
#include "common/assert.h"

/* Addresses of a range on a device without a capacity: more than any sensible request, and
 * few enough for a hundred streams. */
#define UNLIMITED_BYTES (UINT64_C(64) << 40)

size_t tide_cache_granule(const tide_cache *cache, int pool) {
    return pool == TIDE_POOL_SMALL ? cache->config.small_segment_bytes
                                   : cache->config.large_segment_bytes;
}

static uint64_t round_down(uint64_t n_bytes, uint64_t granule_bytes) {
    return n_bytes / granule_bytes * granule_bytes;
}

static uint64_t round_up(uint64_t n_bytes, uint64_t granule_bytes) {
    return round_down(n_bytes + granule_bytes - 1, granule_bytes);
}

size_t tide_cache_growth_bytes(const tide_cache *cache, const tide_cache_request *request) {
    return (size_t)round_up(request->block_bytes, tide_cache_granule(cache, request->pool));
}

/* 1 1/8 of the device's memory, as in PyTorch: a range with live blocks in the middle may need more
 * addresses than memory, because a request may have to be mapped after them. */
static uint64_t range_bytes(const tide_cache *cache, int pool) {
    const tide_device_info *info = tide_device_get_info(cache->device);
    uint64_t total_bytes = info->total_bytes < 0 ? UNLIMITED_BYTES : (uint64_t)info->total_bytes;
    return round_up(total_bytes + total_bytes / 8, tide_cache_granule(cache, pool));
}

tide_status tide_cache_expandable_check(tide_device *device, const tide_cache_config *config,
                                        tide_error *error) {
    size_t granule_bytes = 0;
    if (!config->expandable_segments) {
        return TIDE_OK;
    }
    tide_status status = tide_device_map_granule(device, &granule_bytes, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "expandable_segments:True");
        return status;
    }
    if (config->small_segment_bytes % granule_bytes != 0 ||
        config->large_segment_bytes % granule_bytes != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "expandable_segments:True: %s maps memory in multiples of %zu bytes, and "
                         "large_segment_size_mb is %zu: use a multiple of %zu",
                         tide_device_get_info(device)->spec, granule_bytes,
                         config->large_segment_bytes >> 20, granule_bytes >> 20);
    }
    return TIDE_OK;
}

/* ---- the list of unmapped blocks ---- */

/* Enters an unmapped block after `lower`; NULL: at the front. */
static void list_insert(tide_cache_block *block, tide_cache_block *lower) {
    tide_cache_segment *range = block->segment;
    TIDE_ASSERT(lower == NULL || lower->address + lower->block_bytes <= block->address);
    block->left = lower;
    block->right = lower == NULL ? range->first_unmapped : lower->right;
    if (block->right != NULL) {
        block->right->left = block;
    }
    if (lower == NULL) {
        range->first_unmapped = block;
    } else {
        lower->right = block;
    }
    range->n_unmapped++;
}

static void list_remove(tide_cache_block *block) {
    tide_cache_segment *range = block->segment;
    TIDE_ASSERT((block->left == NULL ? range->first_unmapped : block->left->right) == block);
    if (block->left == NULL) {
        range->first_unmapped = block->right;
    } else {
        block->left->right = block->right;
    }
    if (block->right != NULL) {
        block->right->left = block->left;
    }
    block->left = NULL;
    block->right = NULL;
    range->n_unmapped--;
}

/* The last unmapped block below the address; NULL if there is none. */
static tide_cache_block *unmapped_below(const tide_cache_segment *range, uint64_t address) {
    tide_cache_block *below = NULL;
    for (tide_cache_block *block = range->first_unmapped; block != NULL && block->address < address;
         block = block->right) {
        below = block;
    }
    return below;
}

/* A new block in the range between `before` (NULL: at its beginning) and `after`. */
static tide_cache_block *add_block(tide_cache *cache, tide_cache_segment *range, uint64_t address,
                                   uint64_t n_bytes, tide_cache_block *before,
                                   tide_cache_block *after) {
    TIDE_ASSERT((before == NULL ? range->first_block : before->after) == after);
    tide_cache_block *block = tide_cache_take_block(cache);
    block->address = address;
    block->block_bytes = n_bytes;
    block->segment = range;
    block->before = before;
    block->after = after;
    if (before == NULL) {
        range->first_block = block;
    } else {
        before->after = block;
    }
    if (after != NULL) {
        after->before = block;
    }
    cache->n_blocks++;
    return block;
}

/* ---- growing ---- */

static void record_range(tide_cache *cache, const tide_cache_segment *range, uint64_t address,
                         uint64_t n_bytes, tide_action action, const tide_note *note) {
    tide_recorder_append(cache->recorder, (tide_event){.address = address,
                                                       .requested_bytes = n_bytes,
                                                       .block_bytes = n_bytes,
                                                       .stack = note->stack,
                                                       .scope = note->scope,
                                                       .name = TIDE_NONE,
                                                       .action = (uint8_t)action,
                                                       .category = TIDE_UNKNOWN,
                                                       .stream = range->stream_number});
}

tide_cache_segment *tide_cache_enter_range(tide_cache *cache, uint64_t address,
                                           uint64_t total_bytes, tide_stream stream, int bins) {
    tide_cache_segment *range = tide_cache_take_segment(cache);
    range->address = address;
    range->total_bytes = total_bytes;
    range->stream = stream;
    range->pool = (uint8_t)tide_cache_pool_of(bins);
    range->bins = (uint8_t)bins;
    range->is_expandable = true;
    tide_cache_link_segment(cache, range);
    tide_cache_segment **link = &cache->ranges;
    while (*link != NULL && (*link)->address < address) {
        link = &(*link)->next_range;
    }
    range->next_range = *link;
    *link = range;
    tide_cache_block *block = add_block(cache, range, address, total_bytes, NULL, NULL);
    block->state = TIDE_BLOCK_UNMAPPED;
    list_insert(block, NULL);
    return range;
}

/* Whether free and unmapped blocks follow one another from here on for n_bytes. */
static bool has_room(const tide_cache_block *block, uint64_t n_bytes) {
    uint64_t found_bytes = 0;
    while (found_bytes < n_bytes && block != NULL &&
           (block->state == TIDE_BLOCK_FREE || block->state == TIDE_BLOCK_UNMAPPED)) {
        found_bytes += block->block_bytes;
        block = block->after;
    }
    return found_bytes >= n_bytes;
}

/* The lowest place in a range of the stream and the pool where mapping makes room for the request:
 * an unmapped block, or the free block right before one. NULL if there is none. */
static tide_cache_block *find_place(const tide_cache *cache, const tide_cache_request *request) {
    for (const tide_cache_segment *range = cache->ranges; range != NULL;
         range = range->next_range) {
        if (range->stream != request->stream || range->bins != request->bins) {
            continue;
        }
        for (tide_cache_block *block = range->first_unmapped; block != NULL; block = block->right) {
            tide_cache_block *first =
                block->before != NULL && block->before->state == TIDE_BLOCK_FREE ? block->before
                                                                                 : block;
            if (has_room(first, request->block_bytes)) {
                return first;
            }
        }
    }
    return NULL;
}

tide_status tide_cache_reserve_range(tide_cache *cache, const tide_cache_request *request,
                                     tide_cache_block **ret_block, tide_error *error) {
    uint64_t n_bytes = range_bytes(cache, request->pool);
    if (request->block_bytes > n_bytes) {
        return TIDE_DEVICE_OOM; /* more than the device could ever have */
    }
    uint64_t address = 0;
    tide_status status = tide_device_reserve(cache->device, (size_t)n_bytes, &address, error);
    if (status != TIDE_OK) {
        if (status != TIDE_DEVICE_OOM) {
            tide_error_prefix(error, "reserving addresses for an expandable segment");
        }
        return status;
    }
    *ret_block = tide_cache_enter_range(cache, address, n_bytes, request->stream, request->bins)
                     ->first_block;
    return TIDE_OK;
}

tide_cache_block *tide_cache_cut_unmapped(tide_cache *cache, tide_cache_block *block,
                                          uint64_t address) {
    if (address == block->address) {
        return block;
    }
    uint64_t lower_bytes = address - block->address;
    tide_cache_block *upper = add_block(cache, block->segment, address,
                                        block->block_bytes - lower_bytes, block, block->after);
    upper->state = TIDE_BLOCK_UNMAPPED;
    block->block_bytes = lower_bytes;
    list_insert(upper, block);
    return upper;
}

void tide_cache_note_mapped(tide_cache *cache, tide_cache_block *block, uint64_t n_bytes) {
    tide_cache_segment *range = block->segment;
    tide_cache_block *lower = block->left;
    TIDE_ASSERT(block->state == TIDE_BLOCK_UNMAPPED && n_bytes <= block->block_bytes);
    list_remove(block);
    if (n_bytes < block->block_bytes) {
        tide_cache_block *rest = add_block(cache, range, block->address + n_bytes,
                                           block->block_bytes - n_bytes, block, block->after);
        rest->state = TIDE_BLOCK_UNMAPPED;
        list_insert(rest, lower);
        block->block_bytes = n_bytes;
    }
    range->mapped_bytes += n_bytes;
    tide_stat_add(cache->stats.reserved_bytes, range->pool, (int64_t)n_bytes);
    tide_cache_settle_free(cache, block);
}

/* Maps whole granules for n_bytes at the beginning of an unmapped block. The block becomes free and
 * joins its free neighbours. */
static tide_status map_block(tide_cache *cache, tide_cache_block *block, uint64_t n_bytes,
                             const tide_note *note, tide_error *error) {
    tide_cache_segment *range = block->segment;
    size_t granule_bytes = tide_cache_granule(cache, range->pool);
    uint64_t address = block->address;
    n_bytes = round_up(n_bytes, granule_bytes);
    if (n_bytes > tide_cache_limit_left(cache)) {
        return TIDE_DEVICE_OOM; /* beyond the limit: the device is not called */
    }
    tide_device_spill before;
    tide_device_get_spill(cache->device, &before);
    tide_status status =
        tide_device_map(cache->device, address, (size_t)n_bytes, granule_bytes, error);
    if (status != TIDE_OK) {
        if (status != TIDE_DEVICE_OOM) {
            tide_error_prefix(error, "mapping %llu bytes", (unsigned long long)n_bytes);
        }
        return status;
    }
    cache->stats.num_device_alloc++;
    tide_cache_note_mapped(cache, block, n_bytes);
    record_range(cache, range, address, n_bytes, TIDE_ACTION_SEGMENT_MAP, note);
    tide_cache_mark_spill(cache, address, &before, note);
    return TIDE_OK;
}

static uint64_t less_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

tide_status tide_cache_grow(tide_cache *cache, const tide_cache_request *request,
                            tide_cache_block **ret_block, tide_error *error) {
    const uint64_t wanted_bytes = request->block_bytes;
    tide_cache_block *block = find_place(cache, request);
    if (block == NULL) {
        TIDE_TRY(tide_cache_reserve_range(cache, request, &block, error));
    }
    if (block->state == TIDE_BLOCK_UNMAPPED) {
        TIDE_TRY(map_block(cache, block, less_of(block->block_bytes, wanted_bytes), &request->note,
                           error));
    }
    while (block->block_bytes < wanted_bytes) {
        tide_cache_block *next = block->after;
        TIDE_ASSERT(next != NULL && next->state == TIDE_BLOCK_UNMAPPED); /* the place has room */
        TIDE_TRY(map_block(cache, next,
                           less_of(next->block_bytes, wanted_bytes - block->block_bytes),
                           &request->note, error));
        block = next; /* mapping joined the free block with it */
    }
    tide_cache_bins_take(&cache->free[request->bins], block);
    *ret_block = block;
    return TIDE_OK;
}

/* The size to which the block could grow: its own bytes and the unmapped bytes right after it. */
static uint64_t expandable_bytes(const tide_cache_block *block) {
    const tide_cache_block *after = block->after;
    return block->block_bytes +
           (after != NULL && after->state == TIDE_BLOCK_UNMAPPED ? after->block_bytes : 0);
}

tide_cache_block *tide_cache_best_expandable(const tide_cache *cache, tide_cache_block *block) {
    const tide_cache_bins *bins = &cache->free[block->segment->bins];
    tide_cache_block *next = tide_cache_bins_next(bins, block);
    while (block->segment->is_expandable && next != NULL &&
           next->segment->stream == block->segment->stream &&
           expandable_bytes(next) < expandable_bytes(block)) {
        block = next;
        next = tide_cache_bins_next(bins, block);
    }
    return block;
}

/* ---- releasing ---- */

/* Joins an unmapped block that is in no list with its unmapped neighbours and enters the result. */
static void settle_unmapped(tide_cache *cache, tide_cache_block *block) {
    tide_cache_segment *range = block->segment;
    tide_cache_block *const neighbours[] = {block->before, block->after};
    for (size_t i = 0; i < 2; i++) {
        tide_cache_block *neighbour = neighbours[i];
        if (neighbour == NULL || neighbour->state != TIDE_BLOCK_UNMAPPED) {
            continue;
        }
        list_remove(neighbour);
        if (neighbour == block->before) {
            block->address = neighbour->address;
            block->before = neighbour->before;
        } else {
            block->after = neighbour->after;
        }
        block->block_bytes += neighbour->block_bytes;
        cache->n_blocks--;
        tide_cache_drop_block(cache, neighbour);
    }
    if (block->before == NULL) {
        range->first_block = block;
    } else {
        block->before->after = block;
    }
    if (block->after != NULL) {
        block->after->before = block;
    }
    list_insert(block, unmapped_below(range, block->address));
}

/* Notes that the memory of [begin, end) of a free block was unmapped. The remainders on both sides
 * become free blocks; their nodes have been reserved. */
static void note_unmapped(tide_cache *cache, tide_cache_block *block, uint64_t begin,
                          uint64_t end) {
    tide_cache_segment *range = block->segment;
    uint64_t block_end = block->address + block->block_bytes;
    TIDE_ASSERT(block->address <= begin && begin < end && end <= block_end);
    tide_cache_bins_take(&cache->free[range->bins], block);
    block->state = TIDE_BLOCK_UNMAPPED; /* before its remainders become free, which would join it */
    if (begin > block->address) {
        tide_cache_settle_free(cache, add_block(cache, range, block->address,
                                                begin - block->address, block->before, block));
    }
    if (end < block_end) {
        tide_cache_settle_free(cache,
                               add_block(cache, range, end, block_end - end, block, block->after));
    }
    block->address = begin;
    block->block_bytes = end - begin;
    block->freed_at_lookup = 0;
    range->mapped_bytes -= end - begin;
    tide_stat_add(cache->stats.reserved_bytes, range->pool, -(int64_t)(end - begin));
    settle_unmapped(cache, block);
}

static tide_status release_range(tide_cache *cache, tide_cache_segment *range, tide_error *error) {
    TIDE_ASSERT(range->mapped_bytes == 0 && range->n_unmapped == 1);
    tide_status status =
        tide_device_unreserve(cache->device, range->address, (size_t)range->total_bytes, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "giving up the addresses of an expandable segment");
        return status;
    }
    tide_cache_segment **link = &cache->ranges;
    while (*link != range) {
        link = &(*link)->next_range;
    }
    *link = range->next_range;
    tide_cache_unlink_segment(cache, range);
    tide_cache_drop_block(cache, range->first_block);
    cache->n_blocks--;
    tide_cache_drop_segment(cache, range);
    return TIDE_OK;
}

/* Unmapping takes effect immediately, unlike cudaFree, which waits. So all work that was launched
 * on the blocks must be complete. Waits for the whole device, because a block's stream may have
 * been destroyed. */
static tide_status wait_once(tide_cache *cache, bool *is_idle, tide_error *error) {
    if (*is_idle) {
        return TIDE_OK;
    }
    tide_status status = tide_device_synchronize(cache->device, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "waiting for the device before memory is unmapped");
        return status;
    }
    *is_idle = true;
    return TIDE_OK;
}

/* Unmaps the whole granules of a free block, and waits for the device first unless it is idle.
 * After a failure half way the granules so far are unmapped and the others free. */
static tide_status unmap_block(tide_cache *cache, tide_cache_block *block, bool *is_idle,
                               const tide_note *note, tide_error *error) {
    tide_cache_segment *range = block->segment;
    const size_t granule_bytes = tide_cache_granule(cache, range->pool);
    uint64_t offset = block->address - range->address;
    uint64_t begin = range->address + round_up(offset, granule_bytes);
    uint64_t end = range->address + round_down(offset + block->block_bytes, granule_bytes);
    if (begin >= end) {
        return TIDE_OK;
    }
    /* Two for the remainders of the block, and those that every allocation relies on: memory is
     * released in the middle of an allocation, which has already reserved them. */
    if (tide_cache_nodes_reserve(cache, 2 + TIDE_CACHE_ALLOC_BLOCKS, 1) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory to unmap %llu bytes",
                         (unsigned long long)(end - begin));
    }
    tide_status status = wait_once(cache, is_idle, error);
    if (status != TIDE_OK) {
        return status;
    }
    uint64_t at = begin;
    while (at < end && status == TIDE_OK) {
        status = tide_device_unmap(cache->device, at, granule_bytes, error);
        at += status == TIDE_OK ? granule_bytes : 0;
    }
    if (status != TIDE_OK) {
        tide_error_prefix(error, "unmapping %llu bytes", (unsigned long long)(end - at));
    }
    if (at > begin) {
        cache->stats.num_device_free++;
        note_unmapped(cache, block, begin, at);
        record_range(cache, range, begin, at - begin, TIDE_ACTION_SEGMENT_UNMAP, note);
    }
    return status;
}

tide_status tide_cache_shrink(tide_cache *cache, int pool, const tide_note *note,
                              tide_error *error) {
    if (cache->ranges == NULL) {
        return TIDE_OK;
    }
    bool is_idle = false;
    tide_cache_bins *bins = &cache->free[pool];
    tide_cache_block *block = tide_cache_bins_at_least(bins, 0, 0, 0);
    while (block != NULL) {
        /* Its remainders are smaller and come before it in the order, so the walk does not see
         * them. */
        tide_cache_block *next = tide_cache_bins_next(bins, block);
        tide_cache_segment *range = block->segment;
        if (range->is_expandable) {
            TIDE_TRY(unmap_block(cache, block, &is_idle, note, error));
            if (range->mapped_bytes == 0) {
                TIDE_TRY(release_range(cache, range, error));
            }
        }
        block = next;
    }
    return TIDE_OK;
}

void tide_cache_destroy_ranges(tide_cache *cache) {
    if (cache->ranges == NULL) {
        return;
    }
    /* A failure does not matter: the cache is being destroyed. */
    tide_status ignored = tide_device_synchronize(cache->device, NULL);
    for (tide_cache_segment *range = cache->ranges; range != NULL; range = range->next_range) {
        const size_t granule_bytes = tide_cache_granule(cache, range->pool);
        uint64_t mapped_from = range->address;
        const uint64_t end = range->address + range->total_bytes;
        for (const tide_cache_block *block = range->first_unmapped; mapped_from < end;
             block = block == NULL ? NULL : block->right) {
            uint64_t mapped_to = block == NULL ? end : block->address;
            for (uint64_t at = mapped_from; at < mapped_to; at += granule_bytes) {
                ignored = tide_device_unmap(cache->device, at, granule_bytes, NULL);
            }
            mapped_from = block == NULL ? end : block->address + block->block_bytes;
        }
        ignored =
            tide_device_unreserve(cache->device, range->address, (size_t)range->total_bytes, NULL);
    }
    (void)ignored;
}
