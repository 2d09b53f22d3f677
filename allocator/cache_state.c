/* cache_state.c - the cache as plain tables, and segments that come from such tables. */
#include <inttypes.h>
#include <stdlib.h>

#include "allocator/cache_internal.h"

static int by_address(const void *a, const void *b) {
    const tide_cache_segment *left = *(const tide_cache_segment *const *)a;
    const tide_cache_segment *right = *(const tide_cache_segment *const *)b;
    return left->address < right->address ? -1 : left->address > right->address ? 1 : 0;
}

static tide_block_row row_of(const tide_cache_block *block) {
    return (tide_block_row){.offset_bytes = block->address - block->segment->address,
                            .block_bytes = block->block_bytes,
                            .requested_bytes = block->requested_bytes,
                            .stack = block->stack,
                            .scope = block->scope,
                            .name = block->name,
                            .state = block->state,
                            .category = block->category};
}

/* Fills the arrays of `state`, which have room for all segments and blocks. `sorted` is scratch of
 * n_segments. */
static void fill_rows(const tide_cache *cache, tide_cache_state *state,
                      const tide_cache_segment **sorted) {
    size_t n = 0;
    for (const tide_cache_segment *segment = cache->newest; segment != NULL;
         segment = segment->older) {
        sorted[n++] = segment;
    }
    if (n > 0) {
        qsort(sorted, n, sizeof(const tide_cache_segment *), by_address);
    }
    for (size_t i = 0; i < n; i++) {
        size_t first_block = state->n_blocks;
        for (const tide_cache_block *block = sorted[i]->first_block; block != NULL;
             block = block->after) {
            state->blocks[state->n_blocks++] = row_of(block);
        }
        state->segments[state->n_segments++] =
            (tide_segment_row){.address = sorted[i]->address,
                               .total_bytes = sorted[i]->total_bytes,
                               .first_block = first_block,
                               .n_blocks = state->n_blocks - first_block,
                               .device = 0,
                               .stream = sorted[i]->stream_number};
    }
}

static tide_status copy_locked(tide_cache *cache, const tide_hostmem *mem,
                               tide_cache_state *ret_state, tide_error *error) {
    tide_cache_state state = {.mem = mem, .recording = {.mem = mem}};
    tide_status status = TIDE_NO_MEMORY;
    const tide_cache_segment **sorted =
        tide_hostmem_zeroed(mem, cache->n_segments, sizeof(const tide_cache_segment *));
    if (sorted == NULL) {
        goto fail_sorted;
    }
    state.segments = tide_hostmem_zeroed(mem, cache->n_segments, sizeof(*state.segments));
    if (state.segments == NULL) {
        goto fail_segments;
    }
    state.blocks = tide_hostmem_zeroed(mem, cache->n_blocks, sizeof(*state.blocks));
    if (state.blocks == NULL) {
        goto fail_blocks;
    }
    fill_rows(cache, &state, sorted);
    if (cache->recorder != NULL) {
        status = tide_recorder_copy(cache->recorder, mem, &state.recording, error);
        if (status != TIDE_OK) {
            goto fail_recording;
        }
    }
    mem->release(mem->ctx, (void *)sorted);
    *ret_state = state;
    return TIDE_OK;

fail_recording:
    mem->release(mem->ctx, state.blocks);
fail_blocks:
    mem->release(mem->ctx, state.segments);
fail_segments:
    mem->release(mem->ctx, (void *)sorted);
fail_sorted:
    return tide_fail(error, status, "no host memory for a copy of %zu segments and %zu blocks",
                     cache->n_segments, cache->n_blocks);
}

tide_status tide_cache_copy_state(tide_cache *cache, const tide_hostmem *mem,
                                  tide_cache_state *ret_state, tide_error *error) {
    pthread_mutex_lock(&cache->lock);
    tide_status status =
        copy_locked(cache, mem != NULL ? mem : tide_hostmem_default(), ret_state, error);
    pthread_mutex_unlock(&cache->lock);
    return status;
}

void tide_cache_state_fini(tide_cache_state *state) {
    if (state->mem == NULL) {
        return;
    }
    state->mem->release(state->mem->ctx, state->segments);
    state->mem->release(state->mem->ctx, state->blocks);
    tide_recording_fini(&state->recording);
    *state = (tide_cache_state){.mem = NULL};
}

/* Row i of a segment at `address`, which the rows before it fill up to offset_bytes. */
static tide_status check_row(const tide_cache *cache, uint64_t address, const tide_block_row *rows,
                             size_t i, uint64_t offset_bytes, tide_error *error) {
    const tide_block_row *row = &rows[i];
    if (row->offset_bytes != offset_bytes || row->block_bytes == 0 ||
        row->block_bytes % cache->config.min_block_bytes != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": block %zu does not continue at %" PRIu64
                         " with a multiple of %zu bytes",
                         address, i, offset_bytes, cache->config.min_block_bytes);
    }
    if (row->state != TIDE_BLOCK_FREE && row->state != TIDE_BLOCK_ALLOCATED) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "segment 0x%" PRIx64 ": block %zu waits for another stream", address, i);
    }
    if (row->state == TIDE_BLOCK_ALLOCATED &&
        (row->requested_bytes == 0 || row->requested_bytes > row->block_bytes)) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": block %zu: %" PRIu64
                         " bytes were asked of a block of %" PRIu64,
                         address, i, row->requested_bytes, row->block_bytes);
    }
    if (row->category >= TIDE_N_CATEGORIES) {
        return tide_fail(error, TIDE_INVALID, "segment 0x%" PRIx64 ": block %zu: category %d",
                         address, i, row->category);
    }
    if (i > 0 && row->state == TIDE_BLOCK_FREE && rows[i - 1].state == TIDE_BLOCK_FREE) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": blocks %zu and %zu are free neighbours", address,
                         i - 1, i);
    }
    return TIDE_OK;
}

static tide_status check_rows(const tide_cache *cache, uint64_t address, size_t total_bytes,
                              const tide_block_row *rows, size_t n_rows, tide_error *error) {
    uint64_t covered_bytes = 0;
    for (size_t i = 0; i < n_rows; i++) {
        TIDE_TRY(check_row(cache, address, rows, i, covered_bytes, error));
        if (rows[i].block_bytes > total_bytes - covered_bytes) {
            return tide_fail(error, TIDE_INVALID,
                             "segment 0x%" PRIx64 ": block %zu of %" PRIu64
                             " bytes ends beyond its %zu bytes",
                             address, i, rows[i].block_bytes, total_bytes);
        }
        covered_bytes += rows[i].block_bytes;
    }
    if (n_rows == 0 || covered_bytes != total_bytes) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": its blocks cover %" PRIu64 " of %zu bytes",
                         address, covered_bytes, total_bytes);
    }
    for (const tide_cache_segment *other = cache->newest; other != NULL; other = other->older) {
        if (address < other->address + other->total_bytes &&
            other->address < address + total_bytes) {
            return tide_fail(error, TIDE_INVALID,
                             "segment 0x%" PRIx64 " overlaps the segment at 0x%" PRIx64, address,
                             other->address);
        }
    }
    return TIDE_OK;
}

/* Gives a block of an adopted segment, already in its place, the state of its row. */
static void adopt_block(tide_cache *cache, tide_cache_block *block, const tide_block_row *row) {
    int pool = block->segment->pool;
    block->state = row->state;
    if (row->state == TIDE_BLOCK_FREE) {
        block->freed_at_lookup = cache->free[pool].n_lookups;
        tide_cache_tree_insert(&cache->free[pool], block);
        if (tide_cache_is_split(block)) {
            tide_cache_count_split(cache, pool, 1, (int64_t)block->block_bytes);
        }
        return;
    }
    block->requested_bytes = row->requested_bytes;
    block->category = row->category;
    block->stack = row->stack;
    block->scope = row->scope;
    block->name = row->name;
    tide_cache_table_put(&cache->live, &cache->mem, block);
    tide_cache_count_alloc(cache, block, 1);
    tide_cache_count_active(cache, block, 1);
}

static tide_status adopt_locked(tide_cache *cache, uint64_t address, size_t total_bytes,
                                tide_stream stream, int pool, const tide_block_row *blocks,
                                size_t n_blocks, tide_error *error) {
    TIDE_TRY(check_rows(cache, address, total_bytes, blocks, n_blocks, error));
    if (tide_cache_nodes_reserve(cache, n_blocks, 1) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu blocks", n_blocks);
    }
    tide_cache_block *block = tide_cache_enter_segment(cache, address, total_bytes, stream, pool);
    block->block_bytes = blocks[0].block_bytes;
    for (size_t i = 1; i < n_blocks; i++) {
        tide_cache_block *next = tide_cache_take_block(cache);
        next->address = address + blocks[i].offset_bytes;
        next->block_bytes = blocks[i].block_bytes;
        next->segment = block->segment;
        next->before = block;
        block->after = next;
        block = next;
        cache->n_blocks++;
    }
    for (size_t i = n_blocks; i > 0; i--) {
        adopt_block(cache, block, &blocks[i - 1]);
        block = block->before;
    }
    return TIDE_OK;
}

tide_status tide_cache_adopt_segment(tide_cache *cache, uint64_t address, size_t total_bytes,
                                     tide_stream stream, int pool, const tide_block_row *blocks,
                                     size_t n_blocks, tide_error *error) {
    pthread_mutex_lock(&cache->lock);
    tide_status status =
        adopt_locked(cache, address, total_bytes, stream, pool, blocks, n_blocks, error);
    pthread_mutex_unlock(&cache->lock);
    return status;
}
