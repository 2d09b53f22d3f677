/* How much memory a device would need, where no settings of a grid let the recorded run survive: by
 * replays with other limits. */
#include <stdlib.h>

#include "cli/progress.h"
#include "cli/replay/internal.h"

/* What the allocator buys at least, and rounds large segments to: a limit between two multiples
 * serves no more than the lower one. */
#define STEP_BYTES (UINT64_C(2) << 20)
/* In place of the limit of the settings. */
#define NO_LIMIT ((uint64_t)INT64_MAX)

/* A search on one device. */
typedef struct search {
    const tide_replay_runs *runs; /* borrowed */
    size_t device;
    uint64_t *limits_bytes; /* borrowed; the other devices are never limited */
} search;

static tide_status find_outcome(const search *in, size_t entry, uint64_t limit_bytes,
                                bool *ret_survives, int64_t *ret_peak_bytes, tide_error *error) {
    tide_replay *replay = NULL;
    in->limits_bytes[in->device] = limit_bytes;
    TIDE_TRY(tide_replay_run_entry(in->runs, entry, in->limits_bytes, &replay, error));
    *ret_survives = replay->by_device[in->device].n_ooms == 0;
    *ret_peak_bytes = replay->by_device[in->device].peak_reserved_bytes;
    tide_replay_destroy(replay);
    return TIDE_OK;
}

/* Between a limit that is too small and one that is not, both multiples of STEP_BYTES. */
static tide_status bisect(const search *in, size_t entry, uint64_t low_bytes, uint64_t *high_bytes,
                          tide_error *error) {
    while (*high_bytes - low_bytes > STEP_BYTES) {
        uint64_t middle = low_bytes + (*high_bytes - low_bytes) / STEP_BYTES / 2 * STEP_BYTES;
        bool survives = false;
        int64_t peak_bytes = 0;
        TIDE_TRY(find_outcome(in, entry, middle, &survives, &peak_bytes, error));
        if (survives) {
            *high_bytes = middle;
        } else {
            low_bytes = middle;
        }
    }
    return TIDE_OK;
}

/* Finds a limit above low_bytes at which the entry survives, low_bytes + first_gap_bytes or more.
 * The gap doubles until a replay survives, because a limit can make a run take more than it takes
 * without one, as by collecting garbage. Limits of bound_bytes and more are of no interest;
 * *ret_bytes is 0 if no limit below that was found to be enough. */
static tide_status find_enough(const search *in, size_t entry, uint64_t low_bytes,
                               uint64_t first_gap_bytes, uint64_t bound_bytes, uint64_t *ret_bytes,
                               tide_error *error) {
    bool survives = false;
    uint64_t gap_bytes = first_gap_bytes;
    *ret_bytes = 0;
    while (!survives && bound_bytes - low_bytes > STEP_BYTES) {
        uint64_t most_bytes = bound_bytes - low_bytes - STEP_BYTES;
        uint64_t tried = low_bytes + (gap_bytes < most_bytes ? gap_bytes : most_bytes);
        int64_t peak_bytes = 0;
        TIDE_TRY(find_outcome(in, entry, tried, &survives, &peak_bytes, error));
        *ret_bytes = survives ? tried : 0;
        if (!survives && gap_bytes >= most_bytes) {
            return TIDE_OK;
        }
        gap_bytes *= 2;
    }
    return TIDE_OK;
}

/* The smallest limit above low_bytes and below `*bound` at which the entry survives goes to
 * `*bound`, and true to ret_found. It was replayed: the entry's peak without a limit only says
 * where the search begins. */
static tide_status improve(const search *in, size_t entry, uint64_t low_bytes, uint64_t *bound,
                           bool *ret_found, tide_error *error) {
    bool survives = false;
    int64_t peak_bytes = 0;
    uint64_t high = 0;
    *ret_found = false;
    TIDE_TRY(find_outcome(in, entry, NO_LIMIT, &survives, &peak_bytes, error));
    if (!survives) { /* the device itself is too small */
        return TIDE_OK;
    }
    uint64_t peak = ((uint64_t)peak_bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    uint64_t gap_bytes = peak > low_bytes ? peak - low_bytes : STEP_BYTES;
    TIDE_TRY(find_enough(in, entry, low_bytes, gap_bytes, *bound, &high, error));
    if (high == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(bisect(in, entry, low_bytes, &high, error));
    *bound = high;
    *ret_found = true;
    return TIDE_OK;
}

static tide_status find_need(search *in, tide_replay_need *need, tide_error *error) {
    uint64_t low = tide_replay_limit_in_use(in->runs, in->device) / STEP_BYTES * STEP_BYTES;
    uint64_t bound = NO_LIMIT / STEP_BYTES * STEP_BYTES;
    tide_progress progress;
    tide_status status = TIDE_OK;
    tide_progress_begin(&progress, "searching for a limit");
    for (size_t i = 0; i < in->runs->n_entries && status == TIDE_OK; i++) {
        bool is_better = false;
        status = improve(in, i, low, &bound, &is_better, error);
        if (status == TIDE_OK && is_better) {
            need->limit_bytes = bound;
            need->entry = i;
            need->base_limit_bytes = i == 0 ? bound : need->base_limit_bytes;
        }
        tide_progress_update(&progress, i + 1, in->runs->n_entries);
    }
    tide_progress_end(&progress);
    return status;
}

/* Some device may survive under one of the entries alone, or has no limit to run out of. */
static bool is_hopeless(const tide_replay_runs *runs, size_t device) {
    for (size_t i = 0; i < runs->n_entries; i++) {
        if (runs->entries[i].replay->by_device[device].n_ooms == 0) {
            return false;
        }
    }
    return tide_replay_limit_in_use(runs, device) != UINT64_MAX;
}

tide_status tide_replay_find_needs(tide_replay_runs *runs, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = runs->snapshot->n_devices;
    search in = {.runs = runs,
                 .limits_bytes = tide_hostmem_zeroed(mem, n + 1, sizeof(*in.limits_bytes))};
    tide_status status = TIDE_OK;
    if (in.limits_bytes == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu devices", n);
    }
    for (in.device = 0; in.device < n && status == TIDE_OK; in.device++) {
        for (size_t i = 0; i < n; i++) {
            in.limits_bytes[i] = NO_LIMIT;
        }
        if (is_hopeless(runs, in.device)) {
            runs->needs[in.device].base_limit_bytes = UINT64_MAX;
            status = find_need(&in, &runs->needs[in.device], error);
        }
    }
    mem->release(mem->ctx, in.limits_bytes);
    return status;
}
