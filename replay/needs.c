/* The memory that a device would need if no settings let the recorded run survive, found by replays
 * with other limits. */
#include "replay/needs_internal.h"

#include "common/assert.h"

/* The smallest segment, and the unit to which large segments are rounded: a limit between two
 * multiples serves no more than the lower one. */
#define STEP_BYTES (UINT64_C(2) << 20)

/* Between a limit that is too small and one that is not, both multiples of STEP_BYTES. */
static tide_status bisect(const tide_replay_trials *trials, size_t entry, uint64_t low_bytes,
                          uint64_t *high_bytes, tide_error *error) {
    while (*high_bytes - low_bytes > STEP_BYTES) {
        uint64_t middle = low_bytes + (*high_bytes - low_bytes) / STEP_BYTES / 2 * STEP_BYTES;
        TIDE_ASSERT(low_bytes < middle && middle < *high_bytes && middle % STEP_BYTES == 0);
        bool survives = false;
        int64_t peak_bytes = 0;
        TIDE_TRY(trials->run(trials->ctx, entry, middle, &survives, &peak_bytes, error));
        if (survives) {
            *high_bytes = middle;
        } else {
            low_bytes = middle;
        }
    }
    return TIDE_OK;
}

/* Finds a limit above low_bytes at which the entry survives, low_bytes + first_gap_bytes or more.
 * The gap doubles until a replay survives, because a limit can make a run need more than it needs
 * without one, for example by garbage collection. Limits of bound_bytes and more do not matter;
 * *ret_bytes is 0 if no lower limit was enough. */
static tide_status find_enough(const tide_replay_trials *trials, size_t entry, uint64_t low_bytes,
                               uint64_t first_gap_bytes, uint64_t bound_bytes, uint64_t *ret_bytes,
                               tide_error *error) {
    bool survives = false;
    uint64_t gap_bytes = first_gap_bytes;
    *ret_bytes = 0;
    while (!survives && bound_bytes > low_bytes && bound_bytes - low_bytes > STEP_BYTES) {
        uint64_t most_bytes = bound_bytes - low_bytes - STEP_BYTES;
        uint64_t tried = low_bytes + (gap_bytes < most_bytes ? gap_bytes : most_bytes);
        int64_t peak_bytes = 0;
        TIDE_TRY(trials->run(trials->ctx, entry, tried, &survives, &peak_bytes, error));
        *ret_bytes = survives ? tried : 0;
        if (!survives && gap_bytes >= most_bytes) {
            return TIDE_OK;
        }
        gap_bytes *= 2;
    }
    return TIDE_OK;
}

/* Stores in `*bound` the smallest limit above low_bytes and below `*bound` at which the entry
 * survives, and true in ret_found. The limit was replayed: the entry's peak without a limit is only
 * the start of the search. */
static tide_status improve(const tide_replay_trials *trials, size_t entry, uint64_t low_bytes,
                           uint64_t *bound, bool *ret_found, tide_error *error) {
    bool survives = false;
    int64_t peak_bytes = 0;
    uint64_t high = 0;
    *ret_found = false;
    TIDE_TRY(trials->run(trials->ctx, entry, TIDE_REPLAY_NO_LIMIT, &survives, &peak_bytes, error));
    if (!survives) { /* the device itself is too small */
        return TIDE_OK;
    }
    uint64_t peak = ((uint64_t)peak_bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    uint64_t gap_bytes = peak > low_bytes ? peak - low_bytes : STEP_BYTES;
    TIDE_TRY(find_enough(trials, entry, low_bytes, gap_bytes, *bound, &high, error));
    if (high == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(bisect(trials, entry, low_bytes, &high, error));
    *bound = high;
    *ret_found = true;
    return TIDE_OK;
}

tide_status tide_replay_find_need(const tide_replay_trials *trials,
                                  const tide_replay_progress *progress, tide_replay_need *ret_need,
                                  tide_error *error) {
    uint64_t low = trials->in_use_bytes / STEP_BYTES * STEP_BYTES;
    uint64_t bound = TIDE_REPLAY_NO_LIMIT / STEP_BYTES * STEP_BYTES;
    tide_replay_need need = {.limit_bytes = UINT64_MAX, .base_limit_bytes = UINT64_MAX};
    for (size_t i = 0; i < trials->n_entries; i++) {
        bool is_better = false;
        TIDE_TRY(improve(trials, i, low, &bound, &is_better, error));
        if (is_better) {
            need.limit_bytes = bound;
            need.entry = i;
            need.base_limit_bytes = i == 0 ? bound : need.base_limit_bytes;
        }
        if (progress != NULL && progress->update != NULL) {
            progress->update(progress->ctx, i + 1, trials->n_entries);
        }
    }
    *ret_need = need;
    return TIDE_OK;
}
