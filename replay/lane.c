/* One device of a replay: its cache, and what each row of the snapshot asks of it. */
#include <inttypes.h>
#include <string.h>

#include "replay/replay_internal.h"

/* In the address of a block that waits for another stream; addresses are multiples of 512. */
#define WAITING UINT64_C(1)

static const tide_hostmem *mem_of(const tide_replay_lane *lane) {
    return lane->replay->mem;
}

static const tide_event *event_of(const tide_replay_lane *lane, size_t row) {
    return &lane->replay->snapshot->events[row];
}

static tide_status no_memory(tide_error *error) {
    return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay");
}

/* ---- making one ---- */

/* The log has room for more rows than any sensible replay gives; its pages come when they are used.
 */
static tide_status make_recorder(tide_replay_lane *lane, tide_error *error) {
    const tide_snapshot *snapshot = lane->replay->snapshot;
    tide_recorder_config config;
    size_t n_rows = snapshot->n_events * 8 + snapshot->n_start_blocks * 4 + ((size_t)1 << 20);
    tide_recorder_config_init(&config);
    config.mem = mem_of(lane);
    config.capture_stacks = false;
    config.full_policy = TIDE_FULL_STOP;
    config.log_bytes = n_rows * sizeof(tide_event);
    config.log_path = "";
    TIDE_TRY(tide_recorder_create(&config, &lane->recorder, error));
    pthread_mutex_t *lock = tide_recorder_lock(lane->recorder);
    pthread_mutex_lock(lock);
    for (size_t i = 0; i < snapshot->n_streams; i++) {
        if (snapshot->streams[i].device == lane->number) {
            uint8_t number = tide_recorder_stream(lane->recorder, 0, snapshot->streams[i].handle);
            lane->stream_of[number] = (uint8_t)i;
        }
    }
    pthread_mutex_unlock(lock);
    return TIDE_OK;
}

tide_status tide_replay_lane_init(tide_replay_lane *lane, tide_replay *replay,
                                  const tide_replay_options *options, uint8_t number,
                                  tide_error *error) {
    *lane = (tide_replay_lane){.replay = replay,
                               .options = options,
                               .number = number,
                               .figures = &replay->by_device[number]};
    const tide_hostmem *mem = replay->mem;
    int64_t total_bytes = replay->snapshot->devices[number].total_bytes;
    tide_map_init(&lane->addresses, mem);
    tide_map_init(&lane->waiting_since, mem);
    if (total_bytes < 0 && options->verify) {
        TIDE_TRY(tide_replay_range_total(replay->snapshot, number, mem, &total_bytes));
    }
    TIDE_TRY(tide_replay_device_open(mem, total_bytes, options->verify, &lane->device, error));
    lane->device->events = replay->snapshot->events;
    if (options->verify || options->keep_rows) {
        TIDE_TRY(make_recorder(lane, error));
    }
    return tide_cache_create(&lane->device->base, lane->recorder, &replay->config, &lane->cache,
                             error);
}

void tide_replay_lane_fini(tide_replay_lane *lane) {
    if (lane->replay == NULL) {
        return;
    }
    const tide_hostmem *mem = mem_of(lane);
    tide_cache_destroy(lane->cache);
    tide_recorder_destroy(lane->recorder);
    tide_replay_device_close(lane->device);
    tide_map_fini(&lane->addresses);
    tide_map_fini(&lane->waiting_since);
    mem->release(mem->ctx, lane->pending);
    mem->release(mem->ctx, lane->script);
    mem->release(mem->ctx, lane->group);
    *lane = (tide_replay_lane){.replay = NULL};
}

/* ---- rows that the cache gives ---- */

/* Makes the row one of the snapshot: its tables' numbers, and the caller and time of `row`. */
static tide_event translate(const tide_replay_lane *lane, tide_event found, size_t row) {
    const tide_event *cause = event_of(lane, row);
    found.time_ns = cause->time_ns;
    found.stack = cause->stack;
    found.scope = cause->scope;
    found.device = lane->number;
    found.stream = lane->stream_of[found.stream];
    if (found.action == TIDE_ACTION_ALLOC || found.action == TIDE_ACTION_OOM) {
        found.name = cause->name;
    }
    return found;
}

static tide_status keep(tide_replay *replay, tide_event row) {
    tide_event *rows = tide_hostmem_grow(replay->mem, replay->rows, &replay->rows_capacity,
                                         replay->n_rows + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    replay->rows = rows;
    rows[replay->n_rows++] = row;
    return TIDE_OK;
}

/* Takes what the cache recorded since it was last asked, on behalf of `row`. */
static tide_status take_rows(tide_replay_lane *lane, size_t row, tide_error *error) {
    if (lane->recorder == NULL) {
        return TIDE_OK;
    }
    uint64_t n_rows = tide_recorder_n_rows(lane->recorder);
    for (; lane->n_taken < n_rows; lane->n_taken++) {
        tide_event found;
        if (!tide_recorder_row(lane->recorder, lane->n_taken, &found)) {
            return tide_fail(error, TIDE_LIMIT, "the replay gives more than %" PRIu64 " rows",
                             lane->n_taken);
        }
        found = translate(lane, found, row);
        tide_event *group = tide_hostmem_grow(mem_of(lane), lane->group, &lane->group_capacity,
                                              lane->n_group + 1, sizeof(*group));
        if (group == NULL) {
            return no_memory(error);
        }
        lane->group = group;
        group[lane->n_group++] = found;
        if (lane->options->keep_rows && keep(lane->replay, found) != TIDE_OK) {
            return no_memory(error);
        }
    }
    return TIDE_OK;
}

/* ---- blocks ---- */

static tide_status contradiction(const tide_replay_lane *lane, size_t row, const char *what,
                                 tide_error *error) {
    const tide_event *event = event_of(lane, row);
    return tide_fail(error, TIDE_FORMAT,
                     "event %zu: %s at 0x%" PRIx64
                     " on device %u: %s; the file's events are not in "
                     "their order, or some are missing",
                     row, tide_action_name(event->action), event->address, lane->number, what);
}

/* The first request that ran out of memory is described, all are counted by the cache. */
static void note_oom(const tide_replay_lane *lane, size_t row, const tide_block_row *block) {
    tide_replay *replay = lane->replay;
    tide_cache_oom oom;
    if (replay->first_oom.requested_bytes > 0 || !tide_cache_get_oom(lane->cache, &oom)) {
        return;
    }
    replay->first_oom = (tide_replay_oom){.event = row == SIZE_MAX ? -1 : (int64_t)row,
                                          .requested_bytes = oom.requested_bytes,
                                          .free_bytes = oom.free_bytes,
                                          .allocated_bytes = oom.allocated_bytes,
                                          .reserved_bytes = oom.reserved_bytes,
                                          .stack = block->stack,
                                          .scope = block->scope,
                                          .name = block->name,
                                          .device = lane->number};
}

tide_status tide_replay_lane_request(tide_replay_lane *lane, size_t row,
                                     const tide_block_row *block, tide_stream stream,
                                     uint64_t *ret_address, tide_error *error) {
    const tide_tag tag = {.category = (tide_category)block->category};
    uint64_t address = 0;
    tide_status status = tide_cache_alloc(lane->cache, (size_t)block->requested_bytes, stream, &tag,
                                          &address, error);
    if (status == TIDE_DEVICE_OOM) {
        note_oom(lane, row, block);
        *ret_address = 0;
        return TIDE_OK;
    }
    if (status != TIDE_OK) {
        return status;
    }
    /* What the recorder would have told of its caller; rows about the block repeat its name. */
    tide_cache_block *live = tide_cache_table_find(&lane->cache->live, address);
    live->stack = block->stack;
    live->scope = block->scope;
    live->name = block->name;
    *ret_address = address;
    return TIDE_OK;
}

tide_status tide_replay_lane_wait(tide_replay_lane *lane, uint64_t recorded, uint64_t address,
                                  tide_error *error) {
    if (address != 0) {
        TIDE_TRY(tide_cache_record_stream(lane->cache, address, TIDE_REPLAY_STREAM, error));
        TIDE_TRY(tide_cache_release(lane->cache, address, error));
        if (tide_map_put(&lane->waiting_since, address, lane->cache->stats.num_sync_all_streams) !=
            TIDE_OK) {
            return no_memory(error);
        }
    }
    lane->n_waiting++;
    return tide_map_put(&lane->addresses, recorded, address | WAITING) == TIDE_OK
               ? TIDE_OK
               : no_memory(error);
}

static tide_status take_free(tide_replay_lane *lane, size_t row, tide_error *error) {
    const tide_event *event = event_of(lane, row);
    uint64_t address = 0;
    if (!tide_map_find(&lane->addresses, event->address, &address)) {
        return contradiction(lane, row, "no block is alive there", error);
    }
    if ((address & WAITING) != 0) {
        return contradiction(lane, row, "its free was requested before", error);
    }
    lane->replay->n_requests++;
    if (event->action == TIDE_ACTION_FREE_REQUESTED) {
        return tide_replay_lane_wait(lane, event->address, address, error);
    }
    tide_map_remove(&lane->addresses, event->address);
    return address == 0 ? TIDE_OK : tide_cache_release(lane->cache, address, error);
}

/* Forgets the waiting block of a completed free; `ret_address` 0: nothing waits there any more. */
static tide_status find_waiting(tide_replay_lane *lane, size_t row, uint64_t *ret_address,
                                tide_error *error) {
    uint64_t address = 0;
    uint64_t since = 0;
    if (!tide_map_find(&lane->addresses, event_of(lane, row)->address, &address) ||
        (address & WAITING) == 0) {
        return contradiction(lane, row, "no block waits there", error);
    }
    address &= ~WAITING;
    lane->n_waiting--;
    tide_map_remove(&lane->addresses, event_of(lane, row)->address);
    *ret_address = 0;
    if (address != 0 && tide_map_find(&lane->waiting_since, address, &since) &&
        since == lane->cache->stats.num_sync_all_streams) {
        *ret_address = address;
    }
    tide_map_remove(&lane->waiting_since, address);
    return TIDE_OK;
}

/* ---- groups: the rows about segments and completions before a request ---- */

/* How a group came about. */
typedef struct origin {
    bool is_emptied;    /* the program emptied the cache */
    bool is_waited_for; /* the allocator waited for all streams before its last attempt to buy */
} origin;

static bool stacks_differ(const tide_event *a, const tide_event *b) {
    return a->stack != TIDE_NONE && b->stack != TIDE_NONE && a->stack != b->stack;
}

/* A cached block would do for the request, so that nothing would be given back for it. */
static bool is_cached(const tide_replay_lane *lane, const tide_event *request) {
    tide_cache *cache = lane->cache;
    size_t block_bytes = tide_cache_round_bytes(&cache->config, (size_t)request->requested_bytes);
    int pool = block_bytes <= cache->config.small_bytes ? TIDE_POOL_SMALL : TIDE_POOL_LARGE;
    tide_stream stream = lane->replay->snapshot->streams[request->stream].handle;
    const tide_cache_block *block = tide_cache_tree_best(&cache->free[pool], stream, block_bytes);
    size_t max_split_bytes = cache->config.max_split_bytes;
    return block != NULL &&
           (block_bytes < max_split_bytes
                ? block->block_bytes < max_split_bytes
                : block->block_bytes - block_bytes < cache->config.max_non_split_rounding_bytes);
}

/* `request` NULL: no request for memory follows. */
static origin find_origin(const tide_replay_lane *lane, const tide_event *request) {
    origin from = {false, false};
    bool has_return = false;
    bool has_buy_behind = false;
    bool is_foreign = request == NULL;
    size_t n_completed = 0;
    for (size_t i = 0; i < lane->n_pending; i++) {
        const tide_event *event = event_of(lane, lane->pending[i]);
        n_completed += event->action == TIDE_ACTION_FREE_COMPLETED;
        if (tide_replay_is_return(event->action)) {
            has_return = true;
            has_buy_behind = false;
            is_foreign = is_foreign || stacks_differ(event, request);
        } else if (tide_replay_is_buy(event->action)) {
            has_buy_behind = true;
        }
    }
    bool is_oom = request != NULL && request->action == TIDE_ACTION_OOM;
    if (has_return && (is_foreign || (!has_buy_behind && !is_oom) ||
                       (lane->options->verify && is_cached(lane, request)))) {
        from.is_emptied = true;
        return from;
    }
    /* What waiting for all streams completes is all that waits. */
    from.is_waited_for = (has_return || is_oom) && n_completed == lane->n_waiting;
    return from;
}

/* Completes the frees of the group; with `late` those at their recorded place behind what was given
 * back, which the cache has completed by itself unless it did something else. */
static tide_status complete(tide_replay_lane *lane, tide_error *error) {
    for (size_t i = 0; i < lane->n_pending; i++) {
        size_t row = lane->pending[i];
        uint64_t address = 0;
        if (event_of(lane, row)->action != TIDE_ACTION_FREE_COMPLETED) {
            continue;
        }
        TIDE_TRY(find_waiting(lane, row, &address, error));
        if (address != 0) {
            tide_cache_finish_waiting(lane->cache, address);
        }
        TIDE_TRY(take_rows(lane, row, error));
    }
    return TIDE_OK;
}

/* Rows of the group about segments, for the device. */
static tide_status set_script(tide_replay_lane *lane, const tide_event *request,
                              tide_error *error) {
    lane->n_script = 0;
    lane->n_group = 0;
    size_t *script = tide_hostmem_grow(mem_of(lane), lane->script, &lane->script_capacity,
                                       lane->n_pending + 1, sizeof(*script));
    if (script == NULL) {
        return no_memory(error);
    }
    lane->script = script;
    for (size_t i = 0; i < lane->n_pending; i++) {
        if (event_of(lane, lane->pending[i])->action != TIDE_ACTION_FREE_COMPLETED) {
            script[lane->n_script++] = lane->pending[i];
        }
    }
    lane->device->script = script;
    lane->device->n_script = lane->n_script;
    lane->device->at = 0;
    lane->device->ends_in_oom = request != NULL && request->action == TIDE_ACTION_OOM;
    return TIDE_OK;
}

/* The last row of the group, whose caller emptied the cache. */
static size_t last_return(const tide_replay_lane *lane) {
    size_t row = lane->pending[lane->n_pending - 1];
    for (size_t i = 0; i < lane->n_pending; i++) {
        if (tide_replay_is_return(event_of(lane, lane->pending[i])->action)) {
            row = lane->pending[i];
        }
    }
    return row;
}

/* Without a request: the program emptied the cache, or frees completed. */
static tide_status end_group(tide_replay_lane *lane, tide_error *error) {
    if (lane->n_pending == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(set_script(lane, NULL, error));
    origin from = find_origin(lane, NULL);
    TIDE_TRY(complete(lane, error));
    if (from.is_emptied) {
        TIDE_TRY(tide_cache_empty(lane->cache, error));
        TIDE_TRY(take_rows(lane, last_return(lane), error));
    }
    tide_replay_compare(lane, SIZE_MAX);
    lane->n_pending = 0;
    return TIDE_OK;
}

/* Completions that the cache's own waiting brought about come from the request's row. A block that
 * still waits then does so no longer. */
static tide_status take_waiting(tide_replay_lane *lane, uint64_t *addresses, size_t *ret_n,
                                tide_error *error) {
    size_t n = 0;
    for (size_t i = 0; i < lane->n_pending; i++) {
        if (event_of(lane, lane->pending[i])->action == TIDE_ACTION_FREE_COMPLETED) {
            TIDE_TRY(find_waiting(lane, lane->pending[i], &addresses[n], error));
            n += addresses[n] != 0 ? 1 : 0;
        }
    }
    *ret_n = n;
    return TIDE_OK;
}

static tide_block_row block_of(const tide_event *event) {
    return (tide_block_row){.requested_bytes = event->requested_bytes,
                            .stack = event->stack,
                            .scope = event->scope,
                            .name = event->name,
                            .category = event->category};
}

/* The request itself, and what comes of its block. */
static tide_status ask(tide_replay_lane *lane, size_t row, tide_error *error) {
    const tide_event *event = event_of(lane, row);
    const tide_block_row block = block_of(event);
    uint64_t address = 0;
    if (event->action == TIDE_ACTION_ALLOC &&
        tide_map_find(&lane->addresses, event->address, NULL)) {
        return contradiction(lane, row, "a block is alive there", error);
    }
    TIDE_TRY(tide_replay_lane_request(
        lane, row, &block, lane->replay->snapshot->streams[event->stream].handle, &address, error));
    lane->replay->n_requests++;
    if (event->action == TIDE_ACTION_OOM) {
        lane->replay->n_succeeded += address != 0 ? 1 : 0;
        return tide_cache_release(lane->cache, address, error); /* nobody would free it */
    }
    lane->replay->n_lost += address == 0 ? 1 : 0;
    return tide_map_put(&lane->addresses, event->address, address) == TIDE_OK ? TIDE_OK
                                                                              : no_memory(error);
}

/* With the waiting of a last attempt to buy: the completions come from there. */
static tide_status ask_and_wait(tide_replay_lane *lane, size_t row, tide_error *error) {
    size_t n = 0;
    const tide_hostmem *mem = mem_of(lane);
    uint64_t *addresses = tide_hostmem_zeroed(mem, lane->n_pending + 1, sizeof(*addresses));
    if (addresses == NULL) {
        return no_memory(error);
    }
    tide_status status = take_waiting(lane, addresses, &n, error);
    uint64_t n_synchronized = lane->cache->stats.num_sync_all_streams;
    if (status == TIDE_OK) {
        status = ask(lane, row, error);
    }
    for (size_t i = 0; i < n && lane->cache->stats.num_sync_all_streams == n_synchronized; i++) {
        tide_cache_finish_waiting(lane->cache, addresses[i]);
    }
    mem->release(mem->ctx, addresses);
    return status;
}

static tide_status take_request(tide_replay_lane *lane, size_t row, tide_error *error) {
    const tide_event *event = event_of(lane, row);
    if (event->requested_bytes == 0) {
        return contradiction(lane, row, "it asks for 0 bytes", error);
    }
    TIDE_TRY(set_script(lane, event, error));
    origin from = find_origin(lane, event);
    if (!from.is_waited_for) {
        TIDE_TRY(complete(lane, error));
    }
    if (from.is_emptied) {
        TIDE_TRY(tide_cache_empty(lane->cache, error));
        TIDE_TRY(take_rows(lane, last_return(lane), error));
    }
    TIDE_TRY(from.is_waited_for ? ask_and_wait(lane, row, error) : ask(lane, row, error));
    TIDE_TRY(take_rows(lane, row, error));
    tide_replay_compare(lane, row);
    lane->n_pending = 0;
    return TIDE_OK;
}

static tide_status push(tide_replay_lane *lane, size_t row, tide_error *error) {
    size_t *pending = tide_hostmem_grow(mem_of(lane), lane->pending, &lane->pending_capacity,
                                        lane->n_pending + 1, sizeof(*pending));
    if (pending == NULL) {
        return no_memory(error);
    }
    lane->pending = pending;
    pending[lane->n_pending++] = row;
    return TIDE_OK;
}

/* A segment was bought for a request that is still to come: another thread's row came between. */
static bool is_buying(const tide_replay_lane *lane) {
    return lane->n_pending > 0 &&
           tide_replay_is_buy(event_of(lane, lane->pending[lane->n_pending - 1])->action);
}

tide_status tide_replay_lane_row(tide_replay_lane *lane, size_t row, tide_error *error) {
    switch ((tide_action)event_of(lane, row)->action) {
    case TIDE_ACTION_ALLOC:
    case TIDE_ACTION_OOM:
        TIDE_TRY(take_request(lane, row, error));
        break;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_REQUESTED:
        if (!is_buying(lane)) {
            TIDE_TRY(end_group(lane, error));
        }
        TIDE_TRY(take_free(lane, row, error));
        TIDE_TRY(take_rows(lane, row, error));
        break;
    case TIDE_ACTION_FREE_COMPLETED:
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_MAP:
    case TIDE_ACTION_SEGMENT_UNMAP:
        return push(lane, row, error);
    case TIDE_ACTION_MARK:
        if (lane->options->keep_rows && keep(lane->replay, *event_of(lane, row)) != TIDE_OK) {
            return no_memory(error);
        }
        return TIDE_OK;
    case TIDE_N_ACTIONS:
        return TIDE_OK;
    }
    tide_replay_count(lane);
    return TIDE_OK;
}

tide_status tide_replay_lane_end(tide_replay_lane *lane, tide_error *error) {
    TIDE_TRY(end_group(lane, error));
    tide_replay_count_end(lane);
    tide_status status = tide_cache_check(lane->cache, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "after the last event, device %u", lane->number);
    }
    return status;
}
