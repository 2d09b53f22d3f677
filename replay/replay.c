#include "replay/replay.h"

#include "common/assert.h"
#include "replay/replay_internal.h"

static void sample(tide_replay *replay, const tide_replay_lane *lanes, size_t row) {
    tide_replay_sample *to = &replay->samples[replay->n_samples++];
    *to = (tide_replay_sample){.event = row, .time_ns = replay->snapshot->events.time_ns[row]};
    for (size_t i = 0; i < replay->snapshot->n_devices; i++) {
        const tide_cache_stats *stats = tide_cache_peek_stats(lanes[i].cache);
        to->allocated_bytes += stats->allocated_bytes[TIDE_POOL_ALL].current;
        to->reserved_bytes += stats->reserved_bytes[TIDE_POOL_ALL].current;
        to->pinned_bytes += (int64_t)tide_cache_pinned_bytes(lanes[i].cache);
    }
}

/* The areas of cuDNN up to a row: those without a row are requested now, and the row of another one
 * is announced to its lane. */
static tide_status run_areas(tide_replay_areas *areas, tide_replay_lane *lanes, size_t row,
                             tide_error *error) {
    const tide_replay_area *area = NULL;
    while ((area = tide_replay_areas_next(areas, row)) != NULL) {
        TIDE_ASSERT(area->device < lanes[0].replay->snapshot->n_devices);
        if (area->is_own) {
            lanes[area->device].area = area;
        } else {
            TIDE_TRY(tide_replay_lane_area(&lanes[area->device], area, error));
        }
    }
    return TIDE_OK;
}

/* Runs the rows of all devices in the file's order, because a free on one may follow a request on
 * another. Samples are spread evenly over the rows. */
static tide_status run_rows(tide_replay *replay, const tide_replay_options *options,
                            tide_replay_areas *areas, tide_replay_lane *lanes, tide_error *error) {
    const tide_snapshot *snapshot = replay->snapshot;
    size_t n_samples =
        options->n_samples < snapshot->n_events ? options->n_samples : snapshot->n_events;
    replay->samples = tide_hostmem_zeroed(replay->mem, n_samples + 1, sizeof(*replay->samples));
    if (replay->samples == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay");
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        size_t device = snapshot->events.device[i];
        TIDE_TRY(run_areas(areas, lanes, i, error));
        if (!tide_snapshot_is_pinned(snapshot, device)) { /* it did not come from a caching
                                                             allocator */
            TIDE_TRY(tide_replay_lane_row(&lanes[device], i, error));
        }
        lanes[device].area = NULL;
        if (replay->n_samples < n_samples &&
            i + 1 >= snapshot->n_events / n_samples * (replay->n_samples + 1)) {
            sample(replay, lanes, i);
        }
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        TIDE_TRY(tide_replay_lane_end(&lanes[i], error));
        tide_replay_sum(&replay->figures, lanes[i].figures);
    }
    return TIDE_OK;
}

static tide_status run_all_rows(tide_replay *replay, const tide_replay_options *options,
                                tide_replay_lane *lanes, tide_error *error) {
    tide_replay_areas areas;
    tide_status status =
        tide_replay_areas_init(&areas, replay->snapshot, options->areas, replay->mem);
    status = status == TIDE_OK ? run_rows(replay, options, &areas, lanes, error)
                               : tide_fail(error, status, "no host memory for the replay");
    tide_replay_areas_fini(&areas);
    return status;
}

static tide_status copy_states(const tide_replay *replay, const tide_replay_lane *lanes,
                               tide_replay_state *state, tide_error *error) {
    for (size_t i = 0; i < replay->snapshot->n_devices; i++) {
        TIDE_TRY(tide_replay_copy_state(&lanes[i], state, error));
    }
    return TIDE_OK;
}

static tide_status run_lanes(tide_replay *replay, const tide_replay_options *options,
                             tide_replay_lane *lanes, tide_error *error) {
    const tide_snapshot *snapshot = replay->snapshot;
    size_t n_rows[UINT8_MAX + 1] = {0};
    TIDE_ASSERT(snapshot->n_devices <= sizeof(n_rows) / sizeof(n_rows[0]));
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n_rows[snapshot->events.device[i]]++;
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        TIDE_TRY(tide_replay_lane_init(&lanes[i], replay, options, (uint8_t)i, n_rows[i], error));
        if (!tide_snapshot_is_pinned(snapshot, i)) {
            TIDE_TRY(tide_replay_lane_start(&lanes[i], replay->is_rebuilt, error));
        }
    }
    if (options->keep_rows) {
        TIDE_TRY(copy_states(replay, lanes, &replay->states->start, error));
    }
    TIDE_TRY(run_all_rows(replay, options, lanes, error));
    return options->keep_rows ? copy_states(replay, lanes, &replay->states->end, error) : TIDE_OK;
}

static tide_status run(tide_replay *replay, const tide_replay_options *options, tide_error *error) {
    const tide_hostmem *mem = replay->mem;
    size_t n_devices = replay->snapshot->n_devices;
    replay->by_device = tide_hostmem_zeroed(mem, n_devices + 1, sizeof(*replay->by_device));
    replay->oom_by_device = tide_hostmem_zeroed(mem, n_devices + 1, sizeof(*replay->oom_by_device));
    replay->states = tide_hostmem_zeroed(mem, 1, sizeof(*replay->states));
    tide_replay_lane *lanes = tide_hostmem_zeroed(mem, n_devices + 1, sizeof(*lanes));
    tide_status status =
        replay->by_device == NULL || replay->oom_by_device == NULL || replay->states == NULL ||
                lanes == NULL
            ? tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu devices", n_devices)
            : run_lanes(replay, options, lanes, error);
    for (size_t i = 0; lanes != NULL && i < n_devices; i++) {
        tide_replay_lane_fini(&lanes[i]);
    }
    mem->release(mem->ctx, lanes);
    return status;
}

tide_status tide_replay_run(const tide_snapshot *snapshot, const tide_replay_options *options,
                            tide_replay **ret_replay, tide_error *error) {
    const tide_hostmem *mem = options->mem != NULL ? options->mem : tide_hostmem_default();
    tide_cache_config config;
    if (options->config != NULL) {
        config = *options->config;
    } else {
        TIDE_TRY(tide_replay_settings(snapshot, &config, NULL, error));
    }
    tide_replay *replay = tide_hostmem_zeroed(mem, 1, sizeof(*replay));
    if (replay == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay");
    }
    config.mem = mem;
    replay->mem = mem;
    replay->snapshot = snapshot;
    replay->config = config;
    replay->is_rebuilt = snapshot->n_start_segments > 0 &&
                         (options->start == TIDE_REPLAY_START_REBUILT ||
                          (options->start == TIDE_REPLAY_START_AUTO && !options->verify));
    tide_status status = run(replay, options, error);
    if (status != TIDE_OK) {
        tide_replay_destroy(replay);
        return status;
    }
    *ret_replay = replay;
    return TIDE_OK;
}

static void state_fini(const tide_hostmem *mem, tide_replay_state *state) {
    mem->release(mem->ctx, state->segments);
    mem->release(mem->ctx, state->blocks);
}

void tide_replay_destroy(tide_replay *replay) {
    if (replay == NULL) {
        return;
    }
    const tide_hostmem *mem = replay->mem;
    if (replay->states != NULL) {
        state_fini(mem, &replay->states->start);
        state_fini(mem, &replay->states->end);
    }
    mem->release(mem->ctx, replay->states);
    mem->release(mem->ctx, replay->by_device);
    mem->release(mem->ctx, replay->oom_by_device);
    mem->release(mem->ctx, replay->samples);
    mem->release(mem->ctx, replay->rows);
    mem->release(mem->ctx, replay);
}
