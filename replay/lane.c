/* One device of a replay: its cache, and the replay of each row of the snapshot.
 *
 * A recorded address names a block until its free completes; `addresses` maps it to the block of
 * the replay, which may be elsewhere. Rows about segments and completed frees are results, not
 * requests: they are kept until the next request, because their cause shows only together with it
 * (group.c). */
#include <inttypes.h>
#include <string.h>

#include "common/assert.h"
#include "common/lock_friend.h"
#include "replay/replay_internal.h"
#include "snapshot/document/reserved.h"

static const tide_hostmem *mem_of(const tide_replay_lane *lane) {
    return lane->replay->mem;
}

static tide_status no_memory(tide_error *error) {
    return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay");
}

/* ---- making one ---- */

/* The replayed rows come from a recorder of the lane's own. Its log reserves addresses for eight
 * times the recorded rows, because settings that allocate and release more often cause more rows;
 * memory is used page by page as rows are added, so the excess costs nothing. */
static tide_status make_recorder(tide_replay_lane *lane, size_t n_rows, tide_error *error) {
    const tide_snapshot *snapshot = lane->replay->snapshot;
    tide_recorder_config config;
    size_t n_most = n_rows * 8 + snapshot->n_start_blocks * 4 + ((size_t)1 << 16);
    tide_recorder_config_init(&config);
    config.mem = mem_of(lane);
    config.capture_stacks = false;
    config.full_policy = TIDE_FULL_STOP;
    config.log_bytes = n_most * sizeof(tide_event);
    config.log_path = "";
    TIDE_TRY(tide_recorder_create(&config, &lane->recorder, error));
    tide_lock *lock = tide_recorder_lock(lane->recorder);
    tide_lock_acquire(lock);
    for (size_t i = 0; i < snapshot->n_streams; i++) {
        if (snapshot->streams[i].device == lane->number) {
            uint8_t number = tide_recorder_stream(lane->recorder, 0, snapshot->streams[i].handle);
            lane->stream_of[number] = (uint8_t)i;
        }
    }
    tide_lock_release(lock);
    return TIDE_OK;
}

tide_status tide_replay_lane_init(tide_replay_lane *lane, tide_replay *replay,
                                  const tide_replay_options *options, uint8_t number, size_t n_rows,
                                  tide_error *error) {
    *lane = (tide_replay_lane){.replay = replay,
                               .options = options,
                               .number = number,
                               .figures = &replay->by_device[number]};
    const tide_hostmem *mem = replay->mem;
    int64_t total_bytes = replay->snapshot->devices[number].total_bytes;
    int64_t room_bytes = -1;
    tide_cache_config config = replay->config;
    if (options->limits_bytes != NULL && options->limits_bytes[number] != UINT64_MAX) {
        config.memory_limit_bytes = (size_t)options->limits_bytes[number];
    }
    tide_cache_config recorded;
    TIDE_TRY(tide_replay_settings(replay->snapshot, &recorded, NULL, error));
    lane->collected_garbage = recorded.garbage_collection_threshold > 0.0;
    lane->recorded_bytes = tide_reserved_at_start(replay->snapshot, number);
    lane->recorded_peak_bytes = tide_reserved_peak(replay->snapshot, number);
    tide_map_init(&lane->addresses, mem);
    tide_map_init(&lane->waiting_since, mem);
    if (options->verify &&
        tide_replay_range_total(replay->snapshot, number, mem, &room_bytes) != TIDE_OK) {
        return no_memory(error);
    }
    /* A smaller device makes the ranges of expandable segments smaller, so they fit side by side at
     * the recorded addresses. This size does not decide when memory runs out; the script does
     * (device.c). */
    if (room_bytes >= 0 && (total_bytes < 0 || room_bytes < total_bytes)) {
        total_bytes = room_bytes;
        /* The recorded limit already includes the fraction of the device, which would count twice
         * if applied to the smaller device. */
        if (config.memory_limit_bytes != TIDE_UNLIMITED) {
            config.per_process_memory_fraction = 1.0;
        }
    }
    TIDE_TRY(tide_replay_device_open(mem, total_bytes, options->verify, &lane->device, error));
    lane->device->snapshot = replay->snapshot;
    if (options->verify || options->keep_rows) {
        TIDE_TRY(make_recorder(lane, n_rows, error));
    }
    return tide_cache_create(&lane->device->base, lane->recorder, &config, &lane->cache, error);
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

/* ---- rows of the cache ---- */

/* Turns a row of the recorder into one of the snapshot: time and caller are those of `row`, which
 * caused it, and numbers refer to the snapshot's tables. */
static tide_event translate(const tide_replay_lane *lane, tide_event found, size_t row) {
    const tide_event cause = tide_replay_event(lane, row);
    found.time_ns = cause.time_ns;
    found.stack = cause.stack;
    found.scope = cause.scope;
    found.device = lane->number;
    found.stream = lane->stream_of[found.stream];
    if (found.action == TIDE_ACTION_ALLOC || found.action == TIDE_ACTION_OOM) {
        found.name = cause.name;
        found.category = cause.category;
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

tide_status tide_replay_take_rows(tide_replay_lane *lane, size_t row, tide_error *error) {
    if (lane->recorder == NULL) {
        return TIDE_OK;
    }
    uint64_t n_rows = tide_recorder_n_rows(lane->recorder);
    TIDE_ASSERT(lane->n_taken <= n_rows);
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
    const tide_event event = tide_replay_event(lane, row);
    return tide_fail(error, TIDE_FORMAT,
                     "event %zu: %s at 0x%" PRIx64
                     " on device %u: %s; the file's events are not in "
                     "their order, or some are missing",
                     row, tide_action_name(event.action), event.address, lane->number, what);
}

/* Describes the device's first request that ran out of memory; the cache counts all of them. Later
 * ones follow from the first: a real program would have ended or done something else. */
static void note_oom(const tide_replay_lane *lane, size_t row, const tide_block_row *block) {
    tide_replay_oom *first = &lane->replay->oom_by_device[lane->number];
    tide_cache_oom oom;
    if (first->requested_bytes > 0 || !tide_cache_get_oom(lane->cache, &oom)) {
        return;
    }
    *first = (tide_replay_oom){.event = row == SIZE_MAX ? -1 : (int64_t)row,
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
    const bool is_known =
        block->category < TIDE_N_CATEGORIES; /* otherwise a category that only the file has */
    const tide_tag tag = {.category = is_known ? (tide_category)block->category : TIDE_UNKNOWN};
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
    tide_cache_describe_block(lane->cache, address, block);
    *ret_address = address;
    return TIDE_OK;
}

tide_status tide_replay_lane_wait(tide_replay_lane *lane, uint64_t recorded, uint64_t address,
                                  tide_error *error) {
    /* A block that another stream uses is not free on release, but waits for an event on that
     * stream. The replay's device reaches no event on its own, so the block waits until the row of
     * its completion. */
    if (address != 0) {
        TIDE_TRY(tide_cache_record_stream(lane->cache, address, TIDE_REPLAY_STREAM, error));
        TIDE_TRY(tide_cache_release(lane->cache, address, error));
        if (tide_map_put(&lane->waiting_since, address,
                         tide_cache_peek_stats(lane->cache)->num_sync_all_streams) != TIDE_OK) {
            return no_memory(error);
        }
    }
    lane->n_waiting++;
    return tide_map_put(&lane->addresses, recorded, address | TIDE_REPLAY_WAITING) == TIDE_OK
               ? TIDE_OK
               : no_memory(error);
}

static tide_status take_free(tide_replay_lane *lane, size_t row, tide_error *error) {
    const tide_event event = tide_replay_event(lane, row);
    uint64_t address = 0;
    if (!tide_map_find(&lane->addresses, event.address, &address)) {
        return contradiction(lane, row, "no block is alive there", error);
    }
    if ((address & TIDE_REPLAY_WAITING) != 0) {
        return contradiction(lane, row, "its free was requested before", error);
    }
    lane->replay->n_requests++;
    if (event.action == TIDE_ACTION_FREE_REQUESTED) {
        return tide_replay_lane_wait(lane, event.address, address, error);
    }
    tide_map_remove(&lane->addresses, event.address);
    return address == 0 ? TIDE_OK : tide_cache_release(lane->cache, address, error);
}

tide_status tide_replay_find_waiting(tide_replay_lane *lane, size_t row, uint64_t *ret_address,
                                     tide_error *error) {
    uint64_t address = 0;
    uint64_t since = 0;
    if (!tide_map_find(&lane->addresses, tide_replay_event(lane, row).address, &address) ||
        (address & TIDE_REPLAY_WAITING) == 0) {
        return contradiction(lane, row, "no block waits there", error);
    }
    /* The cache may have waited for all streams since, which freed the block, and may even have
     * reused its address. If the count of such waits has not changed, it has done neither. */
    address &= ~TIDE_REPLAY_WAITING;
    TIDE_ASSERT(lane->n_waiting > 0);
    lane->n_waiting--;
    tide_map_remove(&lane->addresses, tide_replay_event(lane, row).address);
    *ret_address = 0;
    if (address != 0 && tide_map_find(&lane->waiting_since, address, &since) &&
        since == tide_cache_peek_stats(lane->cache)->num_sync_all_streams) {
        *ret_address = address;
    }
    tide_map_remove(&lane->waiting_since, address);
    return TIDE_OK;
}

static tide_block_row block_of(const tide_event *event) {
    return (tide_block_row){.requested_bytes = event->requested_bytes,
                            .stack = event->stack,
                            .scope = event->scope,
                            .name = event->name,
                            .category = event->category};
}

tide_status tide_replay_ask(tide_replay_lane *lane, size_t row, tide_error *error) {
    const tide_event event = tide_replay_event(lane, row);
    const tide_block_row block = block_of(&event);
    uint64_t address = 0;
    if (event.requested_bytes == 0) {
        return contradiction(lane, row, "it asks for 0 bytes", error);
    }
    if (event.action == TIDE_ACTION_ALLOC && tide_map_find(&lane->addresses, event.address, NULL)) {
        return contradiction(lane, row, "a block is alive there", error);
    }
    if (lane->area == NULL) {
        TIDE_TRY(tide_replay_lane_request(lane, row, &block,
                                          lane->replay->snapshot->streams[event.stream].handle,
                                          &address, error));
    } else if (lane->options->areas == TIDE_REPLAY_AREAS_MOST) {
        TIDE_TRY(tide_replay_area_ask(lane, lane->area, &block, &address, error));
    }
    lane->replay->n_requests++;
    if (event.action == TIDE_ACTION_OOM) {
        lane->replay->n_succeeded += address != 0 ? 1 : 0;
        /* The recorded request failed, so the program never frees the block. */
        return tide_cache_release(lane->cache, address, error);
    }
    lane->replay->n_lost += address == 0 && lane->area == NULL ? 1 : 0;
    return tide_map_put(&lane->addresses, event.address, address) == TIDE_OK ? TIDE_OK
                                                                             : no_memory(error);
}

static tide_status push(tide_replay_lane *lane, size_t row, tide_error *error) {
    size_t *pending = tide_hostmem_grow(mem_of(lane), lane->pending, &lane->pending_capacity,
                                        lane->n_pending + 1, sizeof(*pending));
    if (pending == NULL) {
        return no_memory(error);
    }
    lane->pending = pending;
    pending[lane->n_pending++] = row;
    const tide_event event = tide_replay_event(lane, row);
    tide_reserved_pass(&event, &lane->recorded_bytes);
    return TIDE_OK;
}

/* Whether a segment was allocated for a request whose row has not followed yet, because the row of
 * another thread came between. A free must not end the group then. */
static bool is_buying(const tide_replay_lane *lane) {
    return lane->n_pending > 0 &&
           tide_action_gives_segment(
               tide_replay_event(lane, lane->pending[lane->n_pending - 1]).action);
}

tide_status tide_replay_lane_row(tide_replay_lane *lane, size_t row, tide_error *error) {
    switch ((tide_action)tide_replay_event(lane, row).action) {
    case TIDE_ACTION_ALLOC:
    case TIDE_ACTION_OOM:
        TIDE_TRY(tide_replay_group_request(lane, row, error));
        break;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_REQUESTED:
        if (!is_buying(lane)) {
            TIDE_TRY(tide_replay_group_end(lane, error));
        }
        TIDE_TRY(take_free(lane, row, error));
        TIDE_TRY(tide_replay_take_rows(lane, row, error));
        break;
    case TIDE_ACTION_FREE_COMPLETED:
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_MAP:
    case TIDE_ACTION_SEGMENT_UNMAP:
        return push(lane, row, error);
    case TIDE_ACTION_MARK:
        if (lane->options->keep_rows &&
            keep(lane->replay, tide_replay_event(lane, row)) != TIDE_OK) {
            return no_memory(error);
        }
        return TIDE_OK;
    case TIDE_N_ACTIONS:
        return TIDE_OK;
    }
    tide_replay_count(lane);
    return TIDE_OK;
}

tide_status tide_replay_lane_area(tide_replay_lane *lane, const tide_replay_area *area,
                                  tide_error *error) {
    const tide_block_row block = {
        .stack = TIDE_NONE, .scope = TIDE_NONE, .name = TIDE_NONE, .category = TIDE_UNKNOWN};
    uint64_t address = 0;
    if (lane->options->areas != TIDE_REPLAY_AREAS_MOST) {
        return TIDE_OK;
    }
    if (!is_buying(lane)) {
        TIDE_TRY(tide_replay_group_end(lane, error));
    }
    TIDE_TRY(tide_replay_area_ask(lane, area, &block, &address, error));
    tide_replay_count(lane);
    return tide_cache_release(lane->cache, address, error);
}

tide_status tide_replay_lane_end(tide_replay_lane *lane, tide_error *error) {
    TIDE_TRY(tide_replay_group_end(lane, error));
    tide_replay_count_end(lane);
    tide_status status = tide_cache_check(lane->cache, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "after the last event, device %u", lane->number);
    }
    return status;
}
