/* cache.c - requests and releases: how blocks are cut, allocated and joined again. */
#include "allocator/cache.h"

#include "allocator/cache_internal.h"
#include "common/assert.h"

#define TOO_MUCH ((size_t)1 << 60) /* a request of 1 EiB and more is refused immediately */

/* The lower of the configured limit and the fraction of the device's total. */
static tide_status effective_limit(const tide_cache_config *config, const tide_device *device,
                                   size_t *ret_limit, tide_error *error) {
    *ret_limit = config->memory_limit_bytes;
    if (config->per_process_memory_fraction >= 1.0) {
        return TIDE_OK;
    }
    const tide_device_info *info = tide_device_get_info(device);
    if (info->total_bytes < 0) {
        return tide_fail(error, TIDE_INVALID,
                         "per_process_memory_fraction needs a device with a capacity, and %s has "
                         "none: give a memory limit instead",
                         info->spec);
    }
    size_t limit = (size_t)(config->per_process_memory_fraction * (double)info->total_bytes);
    *ret_limit = limit < *ret_limit ? limit : *ret_limit;
    return TIDE_OK;
}

tide_status tide_cache_create(tide_device *device, tide_recorder *recorder,
                              const tide_cache_config *config, tide_cache **ret_cache,
                              tide_error *error) {
    tide_cache_config defaults;
    tide_cache_config_init(&defaults);
    if (config == NULL) {
        config = &defaults;
    }
    size_t limit_bytes = 0;
    tide_status status = TIDE_NO_MEMORY;
    TIDE_TRY(tide_cache_config_check(config, error));
    TIDE_TRY(effective_limit(config, device, &limit_bytes, error));
    TIDE_TRY(tide_cache_expandable_check(device, config, error));
    const tide_hostmem *mem = config->mem != NULL ? config->mem : tide_hostmem_default();
    tide_cache *cache = tide_hostmem_zeroed(mem, 1, sizeof(*cache));
    if (cache == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the cache");
    }
    cache->mem = *mem;
    cache->config = *config;
    cache->config.mem = &cache->mem;
    cache->config.memory_limit_bytes = limit_bytes;
    cache->device = device;
    cache->recorder = recorder;
    if (tide_cache_table_init(&cache->live, mem) != TIDE_OK) {
        goto fail_table;
    }
    if (!tide_recorder_claim(recorder)) {
        status = tide_fail(error, TIDE_INVALID,
                           "the recorder records another cache: create a recorder for each cache");
        goto fail_claim;
    }
    tide_recorder_describe_device(recorder, tide_device_get_info(device));
    cache->lock = recorder == NULL ? &cache->own_lock : tide_recorder_lock(recorder);
    *ret_cache = cache;
    return TIDE_OK;

fail_claim:
    tide_cache_table_fini(&cache->live, mem);
fail_table:
    mem->release(mem->ctx, cache);
    return status == TIDE_NO_MEMORY ? tide_fail(error, status, "no host memory for the cache")
                                    : status;
}

void tide_cache_destroy(tide_cache *cache) {
    if (cache == NULL) {
        return;
    }
    tide_cache_streams_fini(cache);
    tide_cache_destroy_ranges(cache);
    for (tide_cache_segment *segment = cache->newest; segment != NULL; segment = segment->older) {
        if (segment->is_expandable) {
            continue;
        }
        /* A failure does not matter: the cache and its list of segments are being destroyed. */
        tide_status ignored = tide_device_release(cache->device, segment->address, NULL);
        (void)ignored;
    }
    tide_hostmem mem = cache->mem;
    tide_cache_table_fini(&cache->live, &mem);
    tide_cache_nodes_fini(cache);
    mem.release(mem.ctx, cache->graph.calls);
    mem.release(mem.ctx, cache);
}

const tide_cache_config *tide_cache_get_config(const tide_cache *cache) {
    return &cache->config;
}

tide_device *tide_cache_device(const tide_cache *cache) {
    return cache->device;
}

tide_recorder *tide_cache_recorder(const tide_cache *cache) {
    return cache->recorder;
}

void tide_cache_append_block(tide_cache *cache, const tide_cache_block *block, tide_action action,
                             const tide_note *note) {
    TIDE_ASSERT(tide_lock_is_held(cache->lock));
    tide_event *row = tide_recorder_row_begin(cache->recorder);
    if (row == NULL) {
        return;
    }
    /* Field by field, straight into the log. Building a row first and then copying it stalls: the
     * copy's wide loads wait until the narrow stores before them have reached the cache. */
    row->address = block->address;
    row->requested_bytes = block->requested_bytes;
    row->block_bytes = block->block_bytes;
    row->stack = note->stack;
    row->scope = note->scope;
    row->name = block->name;
    row->action = (uint8_t)action;
    row->category = block->category;
    row->device = 0;
    row->stream = block->segment->stream_number;
    tide_recorder_row_end(cache->recorder);
}

/* Skipped without a recorder: capturing a stack costs more than everything else here. Called before
 * the lock is taken, so threads unwind their stacks in parallel. */
static inline void take_note(const tide_cache *cache, const char *name, tide_note *ret_note) {
    if (cache->recorder != NULL) {
        tide_recorder_take_note(cache->recorder, name, ret_note);
    } else {
        *ret_note = (tide_note){TIDE_NONE, TIDE_NONE, TIDE_NONE};
    }
}

static inline void make_free(tide_cache *cache, tide_cache_block *block) {
    tide_cache_bins *bins = &cache->free[block->segment->bins];
    TIDE_ASSERT(block->uses == NULL);
    block->state = TIDE_BLOCK_FREE;
    block->requested_bytes = 0;
    block->freed_at_lookup = bins->n_lookups;
    tide_cache_bins_insert(bins, block);
}

/* Cuts n_bytes off the front of a block that is in no bin; the rest becomes a free block. */
static inline void split(tide_cache *cache, tide_cache_block *block, size_t n_bytes) {
    TIDE_ASSERT(n_bytes > 0 && n_bytes < block->block_bytes);
    tide_cache_block *rest = tide_cache_take_block(cache);
    rest->address = block->address + n_bytes;
    rest->block_bytes = block->block_bytes - n_bytes;
    rest->segment = block->segment;
    rest->before = block;
    rest->after = block->after;
    if (rest->after != NULL) {
        rest->after->before = rest;
    }
    block->after = rest;
    block->block_bytes = n_bytes;
    cache->n_blocks++;
    make_free(cache, rest);
}

/* PyTorch's rule for the size of a block: small blocks keep no tail of 512 bytes or more, large
 * ones none above 1 MiB. A request for max_split_bytes or more gets a whole block. */
static bool should_split(const tide_cache *cache, const tide_cache_request *request,
                         const tide_cache_block *block) {
    uint64_t rest_bytes = block->block_bytes - request->block_bytes;
    if (request->pool == TIDE_POOL_SMALL || cache->config.expandable_segments) {
        return rest_bytes >= cache->config.min_block_bytes;
    }
    return request->block_bytes < cache->config.max_split_bytes &&
           rest_bytes > cache->config.small_bytes;
}

/* Gives the block, which is in no bin, to the caller of the request. */
static inline void hand_out(tide_cache *cache, const tide_cache_request *request,
                            tide_cache_block *block) {
    TIDE_ASSERT(block->state == TIDE_BLOCK_FREE && block->block_bytes >= request->block_bytes);
    TIDE_ASSERT(block->segment->bins == request->bins);
    TIDE_ASSERT(block->segment->stream == request->stream);
    bool was_split = tide_cache_is_split(block);
    if (should_split(cache, request, block)) {
        split(cache, block, request->block_bytes);
        if (was_split) {
            tide_cache_count_split(cache, block->segment, 0, -(int64_t)block->block_bytes);
        } else {
            tide_cache_count_split(cache, block->segment, 1, (int64_t)block->after->block_bytes);
        }
    } else if (was_split) {
        tide_cache_count_split(cache, block->segment, -1, -(int64_t)block->block_bytes);
    }
    block->state = TIDE_BLOCK_ALLOCATED;
    block->requested_bytes = request->requested_bytes;
    block->category = request->category;
    block->stack = request->note.stack;
    block->scope = request->note.scope;
    block->name = request->note.name;
    tide_cache_table_put(&cache->live, block);
    tide_cache_count_alloc(cache, block);
    tide_cache_record_block(cache, block, TIDE_ACTION_ALLOC, &request->note);
}

/* Ensures host memory for everything that an allocation may need: a segment, its blocks, a place in
 * the table, and the bins of its stream. It is reserved before anything changes, because a failure
 * half way would leak device memory. */
static inline bool is_ready(const tide_cache *cache, const tide_cache_request *request) {
    const tide_cache_set *set = cache->free[request->bins].latest;
    return cache->nodes.n_unused_blocks >= TIDE_CACHE_ALLOC_BLOCKS &&
           cache->nodes.n_unused_segments >= 1 && cache->live.n_blocks < cache->live.n_slots / 2 &&
           set != NULL && set->stream == request->stream;
}

static tide_status make_ready(tide_cache *cache, const tide_cache_request *request) {
    TIDE_TRY(tide_cache_nodes_reserve(cache, TIDE_CACHE_ALLOC_BLOCKS, 1));
    TIDE_TRY(tide_cache_table_reserve(&cache->live, &cache->mem, 1));
    return tide_cache_bins_reserve(cache, request->bins, request->stream);
}

static tide_status alloc_locked(tide_cache *cache, const tide_cache_request *request,
                                uint64_t *ret_address, tide_error *error) {
    if (request->requested_bytes >= TOO_MUCH) {
        return tide_cache_out_of_memory(cache, request, error);
    }
    if (cache->streams.n_waiting > 0 && cache->graph.stage != TIDE_GRAPH_CAPTURES) {
        TIDE_TRY(tide_cache_poll_streams(cache, &request->note, error));
    }
    if (!is_ready(cache, request) && make_ready(cache, request) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY,
                         "no host memory to keep account of an allocation of %zu bytes",
                         request->requested_bytes);
    }
    tide_cache_block *block = NULL;
    tide_status status = tide_cache_find_block(cache, request, &block, error);
    if (status == TIDE_DEVICE_OOM) {
        return tide_cache_out_of_memory(cache, request, error);
    }
    if (status != TIDE_OK) {
        return status;
    }
    hand_out(cache, request, block);
    *ret_address = block->address;
    return TIDE_OK;
}

/* The same for a cache that has or captures a graph. The place in its list is reserved first,
 * because a failure after the allocation would leak a block. */
static tide_status alloc_beside_graph(tide_cache *cache, tide_cache_request *request,
                                      uint64_t *ret_address, tide_error *error) {
    if (cache->graph.stage == TIDE_GRAPH_REPLAYS) {
        return tide_cache_graph_answer(cache, request->requested_bytes, ret_address, error);
    }
    if (cache->graph.stage != TIDE_GRAPH_CAPTURES) {
        return alloc_locked(cache, request, ret_address, error);
    }
    request->bins = request->pool + TIDE_CACHE_OF_GRAPH;
    TIDE_TRY(tide_cache_graph_reserve(cache, error));
    TIDE_TRY(alloc_locked(cache, request, ret_address, error));
    tide_cache_graph_note(cache, *ret_address, request->requested_bytes);
    return TIDE_OK;
}

tide_status tide_cache_alloc(tide_cache *cache, size_t n_bytes, tide_stream stream,
                             const tide_tag *tag, uint64_t *ret_address, tide_error *error) {
    if (n_bytes == 0) {
        *ret_address = 0;
        return TIDE_OK;
    }
    if (tag != NULL && (unsigned)tag->category >= TIDE_N_CATEGORIES) {
        return tide_fail(error, TIDE_INVALID, "allocation \"%s\": there is no category %d",
                         tag->name == NULL ? "" : tag->name, (int)tag->category);
    }
    tide_cache_request request = {.requested_bytes = n_bytes, .stream = stream};
    request.block_bytes = n_bytes < TOO_MUCH ? tide_cache_round_bytes(&cache->config, n_bytes) : 0;
    request.pool = n_bytes < TOO_MUCH && request.block_bytes <= cache->config.small_bytes
                       ? TIDE_POOL_SMALL
                       : TIDE_POOL_LARGE;
    request.bins = request.pool;
    request.category = tag == NULL ? (uint8_t)TIDE_UNKNOWN : (uint8_t)tag->category;
    take_note(cache, tag == NULL ? NULL : tag->name, &request.note);
    tide_lock_acquire(cache->lock);
    tide_status status = cache->graph.stage == TIDE_GRAPH_NONE
                             ? alloc_locked(cache, &request, ret_address, error)
                             : alloc_beside_graph(cache, &request, ret_address, error);
    tide_lock_release(cache->lock);
    if (status == TIDE_DEVICE_OOM) {
        tide_cache_call_oom_hook(cache);
    }
    return status;
}

/* Takes a free neighbour out of its bin and makes it a part of the block. Returns its bytes, or 0
 * if there is nothing to merge. */
static inline uint64_t merge(tide_cache *cache, tide_cache_block *block,
                             tide_cache_block *neighbour) {
    if (neighbour == NULL || neighbour->state != TIDE_BLOCK_FREE) {
        return 0;
    }
    uint64_t n_bytes = neighbour->block_bytes;
    TIDE_ASSERT(neighbour->segment == block->segment);
    tide_cache_bins_take(&cache->free[block->segment->bins], neighbour);
    if (neighbour == block->before) {
        TIDE_ASSERT(neighbour->after == block && neighbour->address + n_bytes == block->address);
        block->address = neighbour->address;
        block->before = neighbour->before;
        if (block->before != NULL) {
            block->before->after = block;
        } else {
            block->segment->first_block = block;
        }
    } else {
        TIDE_ASSERT(neighbour->before == block);
        TIDE_ASSERT(block->address + block->block_bytes == neighbour->address);
        block->after = neighbour->after;
        if (block->after != NULL) {
            block->after->before = block;
        }
    }
    block->block_bytes += n_bytes;
    cache->n_blocks--;
    tide_cache_drop_block(cache, neighbour);
    return n_bytes;
}

void tide_cache_settle_free(tide_cache *cache, tide_cache_block *block) {
    (void)merge(cache, block, block->before);
    (void)merge(cache, block, block->after);
    make_free(cache, block);
}

/* The block has already left the live table. */
static inline void become_free(tide_cache *cache, tide_cache_block *block) {
    int64_t n_split = 0;
    int64_t split_bytes = 0;
    tide_cache_count_completion(cache, block);
    for (int side = 0; side < 2; side++) {
        uint64_t n_bytes = merge(cache, block, side == 0 ? block->before : block->after);
        n_split -= n_bytes > 0 ? 1 : 0;
        split_bytes -= (int64_t)n_bytes;
    }
    if (tide_cache_is_split(block)) {
        n_split++;
        split_bytes += (int64_t)block->block_bytes;
    }
    tide_cache_count_split(cache, block->segment, n_split, split_bytes);
    block->stack = TIDE_NONE;
    block->scope = TIDE_NONE;
    block->name = TIDE_NONE;
    block->category = TIDE_UNKNOWN;
    make_free(cache, block);
}

void tide_cache_complete_release(tide_cache *cache, tide_cache_block *block) {
    TIDE_ASSERT(block->state == TIDE_BLOCK_PENDING_FREE && block->uses == NULL);
    tide_cache_table_remove(&cache->live, block);
    tide_cache_count_pending(cache, block, -1);
    become_free(cache, block);
}

static tide_status release_locked(tide_cache *cache, uint64_t address, const tide_note *note,
                                  tide_error *error) {
    size_t slot = tide_cache_table_slot(&cache->live, address);
    tide_cache_block *block = cache->live.slots[slot].block;
    if (block == NULL || block->state != TIDE_BLOCK_ALLOCATED) {
        return tide_cache_refuse_release(cache, address, error);
    }
    if (block->uses == NULL) { /* its own stream orders every later use after this release */
        tide_cache_record_block(cache, block, TIDE_ACTION_FREE, note);
        tide_cache_count_request(cache, block);
        tide_cache_table_clear(&cache->live, slot);
        become_free(cache, block);
        return TIDE_OK;
    }
    TIDE_TRY(tide_cache_begin_waiting(cache, block, error));
    tide_cache_record_block(cache, block, TIDE_ACTION_FREE_REQUESTED, note);
    tide_cache_count_request(cache, block);
    tide_cache_count_pending(cache, block, 1);
    return TIDE_OK;
}

/* The same for a cache that has or captures a graph. */
static tide_status release_beside_graph(tide_cache *cache, uint64_t address, const tide_note *note,
                                        tide_error *error) {
    if (cache->graph.stage == TIDE_GRAPH_REPLAYS) {
        return tide_cache_graph_answer(cache, 0, &address, error);
    }
    if (cache->graph.stage != TIDE_GRAPH_CAPTURES) {
        return release_locked(cache, address, note, error);
    }
    TIDE_TRY(tide_cache_graph_reserve(cache, error));
    TIDE_TRY(release_locked(cache, address, note, error));
    tide_cache_graph_note(cache, address, 0);
    return TIDE_OK;
}

tide_status tide_cache_release(tide_cache *cache, uint64_t address, tide_error *error) {
    if (address == 0) {
        return TIDE_OK;
    }
    tide_note note;
    take_note(cache, NULL, &note);
    tide_lock_acquire(cache->lock);
    tide_status status = cache->graph.stage == TIDE_GRAPH_NONE
                             ? release_locked(cache, address, &note, error)
                             : release_beside_graph(cache, address, &note, error);
    tide_lock_release(cache->lock);
    return status;
}

tide_status tide_cache_empty(tide_cache *cache, tide_error *error) {
    tide_note note;
    take_note(cache, NULL, &note);
    tide_lock_acquire(cache->lock);
    tide_status status = tide_cache_give_back_all(cache, &note, error);
    tide_lock_release(cache->lock);
    return status;
}
