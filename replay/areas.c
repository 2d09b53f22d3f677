/* The work areas of cuDNN in a replay: requests that are left out, or that ask for the largest
 * area, and peaks with each. */
#include "replay/areas.h"

#include <stdlib.h>

#include "common/assert.h"
#include "replay/replay_internal.h"

/* ---- the requests ---- */

/* The block of an address and the row of its request. */
static tide_status note_row(tide_map *rows, const tide_snapshot *snapshot, size_t i) {
    if (snapshot->events.action[i] != TIDE_ACTION_ALLOC) {
        return TIDE_OK;
    }
    return tide_map_put(rows, tide_event_at(snapshot, i).address, i);
}

/* The area of a call, which may be that of an earlier one: with cudnn.benchmark, PyTorch times all
 * plans in one. */
static void add_call(tide_replay_areas *areas, const tide_map *rows,
                     const tide_snapshot_area_call *call) {
    uint64_t row = call->event;
    bool is_own = call->address != 0 && tide_map_find(rows, call->address, &row);
    for (size_t i = areas->n_all; is_own && i > 0; i--) {
        tide_replay_area *other = &areas->all[i - 1];
        if (other->is_own && other->row == row) {
            other->most_bytes =
                other->most_bytes > call->most_bytes ? other->most_bytes : call->most_bytes;
            return;
        }
        if (other->row < row) {
            break;
        }
    }
    areas->all[areas->n_all++] = (tide_replay_area){.row = is_own ? row : call->event,
                                                    .is_own = is_own,
                                                    .likely_bytes = call->likely_bytes,
                                                    .most_bytes = call->most_bytes,
                                                    .stream = call->stream,
                                                    .device = (uint8_t)call->device};
}

/* By row; of one row, areas of other calls first, which come before the request. */
static int compare(const void *a, const void *b) {
    const tide_replay_area *one = a;
    const tide_replay_area *other = b;
    if (one->row != other->row) {
        return one->row < other->row ? -1 : 1;
    }
    return (one->is_own > other->is_own) - (one->is_own < other->is_own);
}

tide_status tide_replay_areas_init(tide_replay_areas *areas, const tide_snapshot *snapshot,
                                   tide_replay_area_sizes sizes, const tide_hostmem *mem) {
    tide_map rows;
    size_t next = 0;
    tide_status status = TIDE_OK;
    *areas = (tide_replay_areas){.mem = mem, .sizes = sizes};
    if (sizes == TIDE_REPLAY_AREAS_RECORDED || snapshot->n_area_calls == 0) {
        return TIDE_OK;
    }
    areas->all = tide_hostmem_zeroed(mem, snapshot->n_area_calls, sizeof(*areas->all));
    if (areas->all == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_map_init(&rows, mem);
    for (size_t i = 0; i < snapshot->n_area_calls && status == TIDE_OK; i++) {
        const tide_snapshot_area_call *call = &snapshot->area_calls[i];
        for (; next < call->event && next < snapshot->n_events && status == TIDE_OK; next++) {
            status = note_row(&rows, snapshot, next);
        }
        add_call(areas, &rows, call);
    }
    tide_map_fini(&rows);
    qsort(areas->all, areas->n_all, sizeof(*areas->all), compare);
    return status;
}

void tide_replay_areas_fini(tide_replay_areas *areas) {
    if (areas->mem != NULL) {
        areas->mem->release(areas->mem->ctx, areas->all);
    }
    *areas = (tide_replay_areas){.mem = NULL};
}

const tide_replay_area *tide_replay_areas_next(tide_replay_areas *areas, size_t row) {
    if (areas->n_passed < areas->n_all && areas->all[areas->n_passed].row <= row) {
        return &areas->all[areas->n_passed++];
    }
    return NULL;
}

/* Where PyTorch runs out of memory for an area it takes the next plan, which needs less. */
tide_status tide_replay_area_ask(tide_replay_lane *lane, const tide_replay_area *area,
                                 const tide_block_row *block, uint64_t *ret_address,
                                 tide_error *error) {
    tide_block_row wanted = *block;
    uint64_t n_bytes = area->most_bytes;
    uint64_t n_least = area->likely_bytes;
    *ret_address = 0;
    while (*ret_address == 0 && n_bytes > 0) {
        wanted.requested_bytes = n_bytes;
        TIDE_TRY(
            tide_replay_lane_request(lane, area->row, &wanted, area->stream, ret_address, error));
        bool is_last = n_bytes <= n_least;
        n_bytes = n_bytes / 2 > n_least ? n_bytes / 2 : n_least;
        if (is_last) {
            break;
        }
    }
    return TIDE_OK;
}

/* ---- peaks ---- */

static tide_status run(const tide_snapshot *snapshot, const uint64_t *limits_bytes,
                       tide_replay_area_sizes sizes, tide_replay **ret, tide_error *error) {
    const tide_replay_options options = {
        .start = TIDE_REPLAY_START_AUTO, .limits_bytes = limits_bytes, .areas = sizes};
    return tide_replay_run(snapshot, &options, ret, error);
}

/* The sizes of the areas of a device. */
static void add_sizes(const tide_snapshot *snapshot, tide_snapshot_work_areas *to) {
    to->n_calls = to->likely_bytes = to->most_bytes = 0;
    for (size_t i = 0; i < snapshot->n_area_calls; i++) {
        const tide_snapshot_area_call *call = &snapshot->area_calls[i];
        if ((int64_t)call->device == to->device) {
            int64_t likely = call->address != 0 ? (int64_t)call->likely_bytes : 0;
            int64_t most = (int64_t)call->most_bytes;
            to->n_calls++;
            to->is_benchmark = to->is_benchmark || call->is_benchmark;
            to->likely_bytes = likely > to->likely_bytes ? likely : to->likely_bytes;
            to->most_bytes = most > to->most_bytes ? most : to->most_bytes;
        }
    }
}

/* The limit of a device, within which a larger area has to find room. */
static tide_status find_limits(const tide_snapshot *snapshot, const uint64_t *limits_bytes,
                               uint64_t **ret, const tide_hostmem *mem) {
    uint64_t *found = tide_hostmem_zeroed(mem, snapshot->n_devices + 1, sizeof(*found));
    if (found == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        uint64_t limit = tide_replay_limit_of(snapshot, (uint8_t)i).limit_bytes;
        found[i] = limits_bytes != NULL && limits_bytes[i] < limit ? limits_bytes[i] : limit;
    }
    *ret = found;
    return TIDE_OK;
}

static tide_status add_rows(tide_snapshot *snapshot, tide_replay *const runs[3],
                            const tide_replay_figures *recorded) {
    tide_snapshot_work_areas *rows =
        tide_arena_alloc(&snapshot->arena, snapshot->n_devices, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        const tide_replay_figures *likely = &runs[TIDE_REPLAY_AREAS_RECORDED]->by_device[i];
        const tide_replay_figures *none = &runs[TIDE_REPLAY_AREAS_NONE]->by_device[i];
        const tide_replay_figures *most = &runs[TIDE_REPLAY_AREAS_MOST]->by_device[i];
        tide_snapshot_work_areas row = {.device = (int64_t)i,
                                        .allocated_none_bytes = none->peak_allocated_bytes,
                                        .allocated_likely_bytes = likely->peak_allocated_bytes,
                                        .allocated_most_bytes = most->peak_allocated_bytes,
                                        .reserved_none_bytes = none->peak_reserved_bytes,
                                        .reserved_likely_bytes = likely->peak_reserved_bytes,
                                        .reserved_most_bytes = most->peak_reserved_bytes,
                                        .is_most_refused = most->n_ooms > likely->n_ooms};
        add_sizes(snapshot, &row);
        /* Only a replay that reproduces the recording says what another one would do. */
        bool is_same = likely->peak_reserved_bytes == recorded[i].peak_reserved_bytes &&
                       likely->peak_allocated_bytes == recorded[i].peak_allocated_bytes;
        if (row.n_calls > 0 && is_same) {
            rows[n++] = row;
        }
    }
    snapshot->work_areas = rows;
    snapshot->n_work_areas = n;
    return TIDE_OK;
}

tide_status tide_replay_add_work_areas(tide_snapshot *snapshot, const uint64_t *limits_bytes,
                                       tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_replay *runs[3] = {NULL};
    uint64_t *limits = NULL;
    tide_status status = TIDE_OK;
    if (snapshot->n_area_calls == 0) {
        return TIDE_OK;
    }
    tide_replay_figures *recorded =
        tide_hostmem_zeroed(mem, snapshot->n_devices + 1, sizeof(*recorded));
    if (recorded == NULL) {
        return TIDE_NO_MEMORY;
    }
    status = tide_replay_recorded(snapshot, recorded, error);
    status = status == TIDE_OK ? find_limits(snapshot, limits_bytes, &limits, mem) : status;
    for (int i = 0; i < 3 && status == TIDE_OK; i++) {
        status = run(snapshot, limits, (tide_replay_area_sizes)i, &runs[i], error);
    }
    status = status == TIDE_OK ? add_rows(snapshot, runs, recorded) : status;
    for (int i = 0; i < 3; i++) {
        tide_replay_destroy(runs[i]);
    }
    mem->release(mem->ctx, limits);
    mem->release(mem->ctx, recorded);
    return status;
}
