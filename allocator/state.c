/* state.c - a copy of the cache as plain tables, in step with a copy of the recording. */
#include <stdlib.h>
#include <string.h>

#include "allocator/cache_internal.h"
#include "common/assert.h"
#include "common/clock.h"
#include "recorder/copy_friend.h"

static int by_address(const void *a, const void *b) {
    const tide_segment_row *left = a;
    const tide_segment_row *right = b;
    return left->address < right->address ? -1 : left->address > right->address ? 1 : 0;
}

static tide_block_row row_of(const tide_cache_block *block, uint64_t segment_address) {
    return (tide_block_row){.offset_bytes = block->address - segment_address,
                            .block_bytes = block->block_bytes,
                            .requested_bytes = block->requested_bytes,
                            .stack = block->stack,
                            .scope = block->scope,
                            .name = block->name,
                            .state = block->state,
                            .category = block->category};
}

/* Segments and blocks as they are listed under the lock, in no order. */
typedef struct listing {
    tide_segment_row *segments; /* owned; room for segments_capacity */
    tide_block_row *blocks;     /* owned; room for blocks_capacity */
    size_t segments_capacity, blocks_capacity;
    size_t n_segments, n_blocks; /* listed; if the room was too small: the largest possible
                                    number */
} listing;

static void listing_fini(listing *list, const tide_hostmem *mem) {
    mem->release(mem->ctx, list->segments);
    mem->release(mem->ctx, list->blocks);
    list->segments = NULL;
    list->blocks = NULL;
}

/* Makes room for all, and some for segments allocated meanwhile. Zeroing touches the pages now;
 * otherwise each would fault while the lock is held. */
static tide_status listing_reserve(listing *list, const tide_hostmem *mem) {
    size_t n_segments = list->n_segments + list->n_segments / 8 + 16;
    size_t n_blocks = list->n_blocks + list->n_blocks / 8 + 64;
    listing_fini(list, mem);
    list->segments = tide_hostmem_zeroed(mem, n_segments, sizeof(*list->segments));
    list->blocks = tide_hostmem_zeroed(mem, n_blocks, sizeof(*list->blocks));
    if (list->segments == NULL || list->blocks == NULL) {
        listing_fini(list, mem);
        return TIDE_NO_MEMORY;
    }
    list->segments_capacity = n_segments;
    list->blocks_capacity = n_blocks;
    return TIDE_OK;
}

/* An upper bound of the runs of memory: n unmapped blocks divide a range into at most n + 1
 * runs. */
static size_t count_runs(const tide_cache *cache) {
    size_t n_runs = cache->n_segments;
    for (const tide_cache_segment *range = cache->ranges; range != NULL;
         range = range->next_range) {
        n_runs += range->n_unmapped;
    }
    return n_runs;
}

/* Lists each run of blocks with memory: one in an ordinary segment, any number in an expandable
 * one. */
static void list_runs(listing *list, const tide_cache_segment *segment) {
    tide_segment_row *row = NULL;
    for (const tide_cache_block *block = segment->first_block; block != NULL;
         block = block->after) {
        if (block->state == TIDE_BLOCK_UNMAPPED) {
            row = NULL;
            continue;
        }
        if (row == NULL) {
            TIDE_ASSERT(list->n_segments < list->segments_capacity);
            row = &list->segments[list->n_segments++];
            *row = (tide_segment_row){.address = block->address,
                                      .first_block = list->n_blocks,
                                      .device = 0,
                                      .stream = segment->stream_number,
                                      .is_expandable = segment->is_expandable,
                                      .pool_id = {segment->bins >= TIDE_N_POOLS ? 1 : 0, 0}};
        }
        TIDE_ASSERT(list->n_blocks < list->blocks_capacity);
        list->blocks[list->n_blocks++] = row_of(block, row->address);
        row->total_bytes += block->block_bytes;
        row->n_blocks++;
    }
}

/* Lists everything; called under the lock. False if the room is too small; n_segments and n_blocks
 * are then the sizes needed. */
static bool listing_fill(listing *list, const tide_cache *cache) {
    TIDE_ASSERT(tide_lock_is_held(cache->lock));
    list->n_segments = count_runs(cache);
    list->n_blocks = cache->n_blocks;
    if (list->n_segments > list->segments_capacity || list->n_blocks > list->blocks_capacity) {
        return false;
    }
    list->n_segments = 0;
    list->n_blocks = 0;
    for (const tide_cache_segment *segment = cache->newest; segment != NULL;
         segment = segment->older) {
        list_runs(list, segment);
    }
    return true;
}

/* Writes the list into the state, by address. Sorting waits until the lock is free again. */
static tide_status listing_sort(const listing *list, const tide_hostmem *mem,
                                tide_cache_state *state) {
    size_t n = list->n_segments;
    state->segments = tide_hostmem_zeroed(mem, n, sizeof(*state->segments));
    state->blocks = tide_hostmem_zeroed(mem, list->n_blocks, sizeof(*state->blocks));
    if (state->segments == NULL || state->blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (n > 0) {
        memcpy(state->segments, list->segments, n * sizeof(*state->segments));
        qsort(state->segments, n, sizeof(*state->segments), by_address);
    }
    for (size_t i = 0; i < n; i++) {
        tide_segment_row *segment = &state->segments[i];
        TIDE_ASSERT(i == 0 || segment[-1].address + segment[-1].total_bytes <= segment->address);
        memcpy(state->blocks + state->n_blocks, list->blocks + segment->first_block,
               segment->n_blocks * sizeof(*state->blocks));
        segment->first_block = state->n_blocks;
        state->n_blocks += segment->n_blocks;
    }
    TIDE_ASSERT(state->n_blocks == list->n_blocks);
    state->n_segments = n;
    return TIDE_OK;
}

/* Takes the list and the newest rows under one hold of the lock, so both are of one instant. If the
 * room for the list is too small, nothing is copied; room for rows is allocated under the lock. */
static tide_status copy_instant(tide_cache *cache, listing *list, tide_recorder_copying *copying,
                                bool *ret_is_listed) {
    tide_status status = TIDE_OK;
    tide_lock_acquire(cache->lock);
    int64_t locked_ns = tide_clock_now_ns();
    *ret_is_listed = listing_fill(list, cache);
    if (*ret_is_listed && cache->recorder != NULL) {
        status = tide_recorder_copy_instant(cache->recorder, copying);
    }
    int64_t held_ns = tide_clock_now_ns() - locked_ns;
    tide_lock_release(cache->lock);
    copying->pause_ns = held_ns > copying->pause_ns ? held_ns : copying->pause_ns;
    return status;
}

/* Repeats the instant until the list has room. The recorder's other tables may follow later: they
 * only grow, so they cover every row of the instant. */
static tide_status copy_list(tide_cache *cache, const tide_hostmem *mem, listing *list,
                             tide_recorder_copying *copying) {
    bool is_listed = false;
    while (!is_listed) { /* more may be allocated between two attempts */
        TIDE_TRY(copy_instant(cache, list, copying, &is_listed));
        if (!is_listed) {
            TIDE_TRY(listing_reserve(list, mem));
        }
    }
    return TIDE_OK;
}

static tide_status copy_all(tide_cache *cache, tide_cache_state *state, listing *list) {
    tide_recorder_copying copying = {.recording = {.mem = NULL}};
    if (cache->recorder != NULL) {
        TIDE_TRY(tide_recorder_copy_begin(cache->recorder, state->mem, &copying));
    }
    tide_status status = copy_list(cache, state->mem, list, &copying);
    if (status == TIDE_OK && cache->recorder != NULL) {
        status = tide_recorder_copy_end(cache->recorder, &copying);
    }
    state->recording = copying.recording;
    state->recording.mem = state->mem;
    state->pause_ns = copying.pause_ns;
    return status == TIDE_OK ? listing_sort(list, state->mem, state) : status;
}

tide_status tide_cache_copy_state(tide_cache *cache, const tide_hostmem *mem,
                                  tide_cache_state *ret_state, tide_error *error) {
    tide_cache_state state = {.mem = mem != NULL ? mem : tide_hostmem_default()};
    listing list = {.segments = NULL};
    tide_status status = copy_all(cache, &state, &list);
    listing_fini(&list, state.mem);
    if (status != TIDE_OK) {
        tide_cache_state_fini(&state);
        return tide_fail(error, status, "no host memory for a copy of %zu segments and %zu blocks",
                         list.n_segments, list.n_blocks);
    }
    *ret_state = state;
    return TIDE_OK;
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
