/* graph.c - the private pool of a captured step, and the list of its calls, which a replay repeats.
 */
#include <inttypes.h>
#include <string.h>

#include "allocator/cache_internal.h"
#include "common/assert.h"

enum { FIRST_CALLS = 256 };

static tide_status change_stage(tide_cache *cache, tide_cache_graph_stage from,
                                tide_cache_graph_stage to, tide_error *error) {
    static const char *const STAGES[] = {[TIDE_GRAPH_NONE] = "no step was captured",
                                         [TIDE_GRAPH_CAPTURES] = "a step is being captured",
                                         [TIDE_GRAPH_CAPTURED] = "a step was captured",
                                         [TIDE_GRAPH_REPLAYS] = "a step is being replayed"};
    if (cache->graph.stage != from) {
        return tide_fail(error, TIDE_INVALID, "the cache's graph: %s, expected was: %s",
                         STAGES[cache->graph.stage], STAGES[from]);
    }
    cache->graph.stage = to;
    cache->graph.next = 0;
    return TIDE_OK;
}

static tide_status change_locked(tide_cache *cache, tide_cache_graph_stage from,
                                 tide_cache_graph_stage to, tide_error *error) {
    tide_lock_acquire(cache->lock);
    tide_status status = change_stage(cache, from, to, error);
    tide_lock_release(cache->lock);
    return status;
}

tide_status tide_cache_begin_capture(tide_cache *cache, tide_error *error) {
    TIDE_TRY(change_locked(cache, TIDE_GRAPH_NONE, TIDE_GRAPH_CAPTURES, error));
    return tide_cache_empty(cache, error);
}

tide_status tide_cache_end_capture(tide_cache *cache, tide_error *error) {
    return change_locked(cache, TIDE_GRAPH_CAPTURES, TIDE_GRAPH_CAPTURED, error);
}

tide_status tide_cache_begin_replay(tide_cache *cache, tide_error *error) {
    return change_locked(cache, TIDE_GRAPH_CAPTURED, TIDE_GRAPH_REPLAYS, error);
}

tide_status tide_cache_end_replay(tide_cache *cache, tide_error *error) {
    tide_lock_acquire(cache->lock);
    size_t n_done = cache->graph.next;
    tide_status status = change_stage(cache, TIDE_GRAPH_REPLAYS, TIDE_GRAPH_CAPTURED, error);
    if (status == TIDE_OK && n_done != cache->graph.n_calls) {
        status = tide_fail(error, TIDE_INVALID,
                           "a replay made %zu of the %zu allocations and releases of the capture",
                           n_done, cache->graph.n_calls);
    }
    tide_lock_release(cache->lock);
    return status;
}

tide_status tide_cache_graph_reserve(tide_cache *cache, tide_error *error) {
    tide_cache_graph *graph = &cache->graph;
    TIDE_ASSERT(tide_lock_is_held(cache->lock) && graph->stage == TIDE_GRAPH_CAPTURES);
    if (graph->n_calls < graph->capacity) {
        return TIDE_OK;
    }
    size_t capacity = graph->capacity == 0 ? FIRST_CALLS : 2 * graph->capacity;
    tide_cache_call *calls = tide_hostmem_zeroed(&cache->mem, capacity, sizeof(*calls));
    if (calls == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY,
                         "no host memory for the %zu calls of a captured step", capacity);
    }
    if (graph->n_calls > 0) {
        memcpy(calls, graph->calls, graph->n_calls * sizeof(*calls));
    }
    cache->mem.release(cache->mem.ctx, graph->calls);
    graph->calls = calls;
    graph->capacity = capacity;
    return TIDE_OK;
}

void tide_cache_graph_note(tide_cache *cache, uint64_t address, size_t n_bytes) {
    tide_cache_graph *graph = &cache->graph;
    TIDE_ASSERT(graph->n_calls < graph->capacity);
    graph->calls[graph->n_calls++] = (tide_cache_call){.address = address, .n_bytes = n_bytes};
}

tide_status tide_cache_graph_answer(tide_cache *cache, size_t n_bytes, uint64_t *address,
                                    tide_error *error) {
    tide_cache_graph *graph = &cache->graph;
    TIDE_ASSERT(tide_lock_is_held(cache->lock) && graph->stage == TIDE_GRAPH_REPLAYS);
    TIDE_ASSERT(graph->next <= graph->n_calls);
    if (graph->next == graph->n_calls) {
        return tide_fail(error, TIDE_INVALID,
                         "a replay makes more than the %zu allocations and releases of the capture",
                         graph->n_calls);
    }
    const tide_cache_call *call = &graph->calls[graph->next];
    if (call->n_bytes != n_bytes || (n_bytes == 0 && call->address != *address)) {
        return tide_fail(
            error, TIDE_INVALID,
            "call %zu of a replay is about %zu bytes at 0x%" PRIx64
            ", that of the capture was about %zu at 0x%" PRIx64 " (0 bytes: a release)",
            graph->next, n_bytes, n_bytes == 0 ? *address : 0, call->n_bytes, call->address);
    }
    *address = call->address;
    graph->next++;
    return TIDE_OK;
}
