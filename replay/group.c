/* The rows about segments and completed frees before a request: finds their cause and makes the
 * replay's allocator do the same.
 *
 * The rows record the allocator's actions, and the replay's allocator repeats them if it has the
 * same cause. So the replay must find the cause, which is an action of the program.
 *
 * Segments are released because an allocation of a segment failed, or because the program emptied
 * the cache. Frees complete because the allocator polled, which it does before anything else, or
 * because it waited for all streams, which it does before its last attempt and when the cache is
 * emptied.
 */
#include "common/assert.h"
#include "replay/replay_internal.h"

/* The properties of a group of rows that show their cause. */
typedef struct group {
    size_t n_completed;   /* frees */
    bool completes_all;   /* after the group no block waits for a stream */
    size_t first_return;  /* index of the first row that releases memory; n_pending: none */
    bool has_buy_after;   /* memory was allocated after the last such row */
    bool has_segment;     /* a whole segment was released, not only a part of a range */
    bool is_other_caller; /* memory was released under another call stack than the request's */
    bool is_oom;          /* the request ran out of memory */
    bool had_room;        /* the device would have given the group's segments without any release */
} group;

static bool stacks_differ(const tide_event *a, const tide_event *b) {
    return a->stack != TIDE_NONE && b->stack != TIDE_NONE && a->stack != b->stack;
}

/* `request` NULL if no request for memory follows. */
static group look_at(const tide_replay_lane *lane, const tide_event *request) {
    group of = {.first_return = lane->n_pending,
                .is_oom = request != NULL && request->action == TIDE_ACTION_OOM};
    uint64_t n_returned = 0;
    for (size_t i = 0; i < lane->n_pending; i++) {
        const tide_event event = tide_replay_event(lane, lane->pending[i]);
        of.n_completed += event.action == TIDE_ACTION_FREE_COMPLETED ? 1 : 0;
        if (tide_action_takes_segment(event.action)) {
            of.first_return = of.first_return == lane->n_pending ? i : of.first_return;
            of.has_buy_after = false;
            n_returned += event.block_bytes;
            of.has_segment = of.has_segment || event.action == TIDE_ACTION_SEGMENT_FREE;
            of.is_other_caller =
                of.is_other_caller || request == NULL || stacks_differ(&event, request);
        } else if (tide_action_gives_segment(event.action)) {
            of.has_buy_after = true;
        }
    }
    of.completes_all = of.n_completed == lane->n_waiting;
    of.had_room = !of.is_oom && lane->recorded_bytes <= lane->recorded_peak_bytes &&
                  n_returned <= lane->recorded_peak_bytes - lane->recorded_bytes;
    return of;
}

static tide_cache_wanted wanted_by(const tide_replay_lane *lane, const tide_event *request) {
    return tide_cache_wanted_by(lane->cache, (size_t)request->requested_bytes,
                                lane->replay->snapshot->streams[request->stream].handle);
}

/* Whether these settings let the allocator release only a part of its cached segments. */
static bool is_selective(const tide_replay_lane *lane) {
    const tide_cache_config *config = tide_cache_get_config(lane->cache);
    return config->max_split_bytes != TIDE_UNLIMITED || config->garbage_collection_threshold > 0.0;
}

/* Whether the group releases all segments that it could, in the order of emptying the cache. */
static bool gives_back_all(const tide_replay_lane *lane) {
    const tide_cache_segment *segment = NULL;
    for (size_t i = 0; i < lane->n_script; i++) {
        const tide_event event = tide_replay_event(lane, lane->script[i]);
        if (event.action != TIDE_ACTION_SEGMENT_FREE) {
            continue;
        }
        segment = tide_cache_next_returned(lane->cache, segment);
        if (segment == NULL || tide_cache_segment_address(segment) != event.address) {
            return false;
        }
    }
    return tide_cache_next_returned(lane->cache, segment) == NULL;
}

/* Whether the frees of the group must have completed after the request looked for a cached block:
 * otherwise it would have found one of them. */
static bool must_have_waited(const tide_replay_lane *lane, const tide_event *request) {
    const tide_cache_wanted wanted = wanted_by(lane, request);
    for (size_t i = 0; i < lane->n_pending; i++) {
        const tide_event event = tide_replay_event(lane, lane->pending[i]);
        uint64_t address = 0;
        if (event.action == TIDE_ACTION_FREE_COMPLETED &&
            tide_map_find(&lane->addresses, event.address, &address) &&
            tide_cache_would_serve(lane->cache, address & ~TIDE_REPLAY_WAITING, &wanted)) {
            return true;
        }
    }
    return false;
}

/* ---- the cause of a group ---- */

typedef struct origin {
    bool is_emptied; /* the program emptied the cache before the request */
    size_t n_polled; /* pending rows before the allocator waited for all streams; n_pending: it did
                        not wait */
} origin;

/* Emptying the cache releases all segments. Fewer mean that the allocator made room for the request
 * before it waited for the streams. */
static origin find_selective_origin(const tide_replay_lane *lane, const group *of,
                                    const tide_event *request) {
    if (!gives_back_all(lane)) {
        return (origin){.n_polled = of->first_return};
    }
    return must_have_waited(lane, request)
               ? (origin){.n_polled = 0}
               : (origin){.is_emptied = true, .n_polled = lane->n_pending};
}

static origin find_origin(const tide_replay_lane *lane, const group *of,
                          const tide_event *request) {
    const origin polled = {.n_polled = lane->n_pending};
    const origin emptied = {.is_emptied = true, .n_polled = lane->n_pending};
    const origin waited = {.n_polled = 0};
    bool has_return = of->first_return < lane->n_pending;
    /* Waiting for streams completes every free, and happens only when memory is needed. */
    if (!of->completes_all || !(has_return || of->is_oom)) {
        return polled;
    }
    /* A request that released memory must have allocated some afterwards, except in an expandable
     * segment, where the last attempt may find room without mapping more. */
    bool may_buy = of->has_buy_after || of->is_oom || !of->has_segment;
    if (has_return && (of->is_other_caller || !may_buy)) {
        return emptied;
    }
    /* With torch.backends.cudnn.benchmark PyTorch empties the cache within a call. An allocator
     * that collects garbage releases segments of which the device refused none. */
    if (has_return && of->had_room && !lane->collected_garbage) {
        return emptied;
    }
    /* The tests below look at the cache, which equals the recorded one only when verifying. */
    if (!has_return || !lane->options->verify) {
        return waited;
    }
    if (is_selective(lane)) {
        return find_selective_origin(lane, of, request);
    }
    /* If a cached block had served the request, the cache would have released nothing for it. */
    const tide_cache_wanted wanted = wanted_by(lane, request);
    return tide_cache_has_cached(lane->cache, &wanted) ? emptied : waited;
}

/* Completes the frees of pending rows [from, to). */
static tide_status complete(tide_replay_lane *lane, size_t from, size_t to, tide_error *error) {
    TIDE_ASSERT(from <= to && to <= lane->n_pending);
    for (size_t i = from; i < to; i++) {
        size_t row = lane->pending[i];
        uint64_t address = 0;
        if (tide_replay_event(lane, row).action != TIDE_ACTION_FREE_COMPLETED) {
            continue;
        }
        TIDE_TRY(tide_replay_find_waiting(lane, row, &address, error));
        if (address != 0) {
            tide_cache_finish_waiting(lane->cache, address);
        }
        TIDE_TRY(tide_replay_take_rows(lane, row, error));
    }
    return TIDE_OK;
}

/* Gives the device the group's rows about segments, which it then repeats. */
static tide_status set_script(tide_replay_lane *lane, const tide_event *request,
                              tide_error *error) {
    lane->n_script = 0;
    lane->n_group = 0;
    size_t *script = tide_hostmem_grow(lane->replay->mem, lane->script, &lane->script_capacity,
                                       lane->n_pending + 1, sizeof(*script));
    if (script == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay");
    }
    lane->script = script;
    for (size_t i = 0; i < lane->n_pending; i++) {
        if (tide_replay_event(lane, lane->pending[i]).action != TIDE_ACTION_FREE_COMPLETED) {
            script[lane->n_script++] = lane->pending[i];
        }
    }
    TIDE_ASSERT(lane->n_script <= lane->n_pending);
    lane->device->script = script;
    lane->device->n_script = lane->n_script;
    lane->device->at = 0;
    lane->device->ends_in_oom = request != NULL && request->action == TIDE_ACTION_OOM;
    return TIDE_OK;
}

/* Empties the cache as the program did, on behalf of the last row that releases memory. */
static tide_status empty(tide_replay_lane *lane, tide_error *error) {
    size_t row = 0;
    for (size_t i = 0; i < lane->n_pending; i++) {
        if (tide_action_takes_segment(tide_replay_event(lane, lane->pending[i]).action)) {
            row = lane->pending[i];
        }
    }
    TIDE_TRY(tide_cache_empty(lane->cache, error));
    return tide_replay_take_rows(lane, row, error);
}

tide_status tide_replay_group_end(tide_replay_lane *lane, tide_error *error) {
    if (lane->n_pending == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(set_script(lane, NULL, error));
    group of = look_at(lane, NULL);
    TIDE_TRY(complete(lane, 0, lane->n_pending, error));
    if (of.first_return < lane->n_pending) {
        TIDE_TRY(empty(lane, error));
    }
    tide_replay_compare(lane, SIZE_MAX);
    lane->n_pending = 0;
    return TIDE_OK;
}

/* Forgets the waiting blocks whose frees complete in the pending rows from `from` on, and lists
 * those that still wait in the replay. */
static tide_status take_waiting(tide_replay_lane *lane, size_t from, uint64_t *addresses,
                                size_t *ret_n, tide_error *error) {
    size_t n = 0;
    for (size_t i = from; i < lane->n_pending; i++) {
        size_t row = lane->pending[i];
        if (tide_replay_event(lane, row).action == TIDE_ACTION_FREE_COMPLETED) {
            TIDE_TRY(tide_replay_find_waiting(lane, row, &addresses[n], error));
            n += addresses[n] != 0 ? 1 : 0;
        }
    }
    *ret_n = n;
    return TIDE_OK;
}

/* Repeats a request that waited for all streams, which completed the frees from pending row `from`
 * on. If the request does not wait in the replay, these frees are completed after it. */
static tide_status ask_and_wait(tide_replay_lane *lane, size_t row, size_t from,
                                tide_error *error) {
    size_t n = 0;
    const tide_hostmem *mem = lane->replay->mem;
    uint64_t *addresses = tide_hostmem_zeroed(mem, lane->n_pending + 1, sizeof(*addresses));
    if (addresses == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay");
    }
    uint64_t n_synchronized = tide_cache_peek_stats(lane->cache)->num_sync_all_streams;
    tide_status status = take_waiting(lane, from, addresses, &n, error);
    if (status == TIDE_OK) {
        status = tide_replay_ask(lane, row, error);
    }
    for (size_t i = 0;
         i < n && tide_cache_peek_stats(lane->cache)->num_sync_all_streams == n_synchronized; i++) {
        tide_cache_finish_waiting(lane->cache, addresses[i]);
    }
    mem->release(mem->ctx, addresses);
    return status;
}

tide_status tide_replay_group_request(tide_replay_lane *lane, size_t row, tide_error *error) {
    const tide_event request = tide_replay_event(lane, row);
    TIDE_TRY(set_script(lane, &request, error));
    group of = look_at(lane, &request);
    origin from = find_origin(lane, &of, &request);
    TIDE_TRY(complete(lane, 0, from.n_polled, error));
    if (from.is_emptied) {
        TIDE_TRY(empty(lane, error));
    }
    TIDE_TRY(from.n_polled < lane->n_pending ? ask_and_wait(lane, row, from.n_polled, error)
                                             : tide_replay_ask(lane, row, error));
    TIDE_TRY(tide_replay_take_rows(lane, row, error));
    tide_replay_compare(lane, row);
    lane->n_pending = 0;
    return TIDE_OK;
}
