#include "replay/remedy.h"

#include <stdio.h>
#include <string.h>

/* The smallest share of the peak worth saving, and the largest distance of the replayed peak from
 * the recorded one. */
enum {
    LEAST_PERCENT = 2,
    SIMPLER_PERCENT = 1 /* of the best peak: fewer settings are worth so much more */
};

static bool is_near(int64_t bytes, int64_t to) {
    int64_t apart = bytes > to ? bytes - to : to - bytes;
    return apart <= to / 100 * LEAST_PERCENT;
}

/* The settings serve every request, and the recorded ones fail where the recorded run failed: if
 * not, replays under other settings prove nothing. A replay ends at the last recorded request. */
static bool survives(const tide_replay *base, const tide_replay *best, size_t device,
                     int64_t failed_row) {
    return base->by_device[device].n_ooms > 0 && base->oom_by_device[device].event == failed_row &&
           best->by_device[device].n_ooms == 0;
}

/* Less is reserved than in the recording and in its replay. If that replay does not reach the
 * recorded peak, memory from before the recording made the peak, and no replay shows the effect of
 * a setting. */
static bool saves(const tide_replay *base, const tide_replay *best, size_t device,
                  int64_t recorded_bytes) {
    int64_t base_bytes = base->by_device[device].peak_reserved_bytes;
    int64_t least = base_bytes < recorded_bytes ? base_bytes : recorded_bytes;
    int64_t saved = least - best->by_device[device].peak_reserved_bytes;
    return best->by_device[device].n_ooms == 0 && is_near(base_bytes, recorded_bytes) &&
           saved > least / 100 * LEAST_PERCENT;
}

static bool helps(const tide_replay_runs *runs, const tide_replay *run, size_t device,
                  int64_t failed_row) {
    const tide_replay *base = runs->entries[runs->base].replay;
    int64_t recorded_bytes = runs->recorded_by_device[device].peak_reserved_bytes;
    return failed_row >= 0 ? survives(base, run, device, failed_row)
                           : saves(base, run, device, recorded_bytes);
}

static size_t n_settings(const char *name) {
    size_t n = 1;
    for (const char *at = name; (at = strchr(at, ',')) != NULL; at++) {
        n++;
    }
    return n;
}

/* Of the settings that help and whose peak is about the best, the fewest; NULL: none helps. */
static const tide_replay_entry *find_simplest(const tide_replay_runs *runs, size_t device,
                                              int64_t failed_row) {
    size_t order[TIDE_REPLAY_MAX_RUNS];
    tide_replay_runs_rank(runs, device, order);
    const tide_replay_entry *found = &runs->entries[order[0]];
    int64_t best_bytes = found->replay->by_device[device].peak_reserved_bytes;
    if (!helps(runs, found->replay, device, failed_row)) {
        return NULL;
    }
    for (size_t i = 1; i < runs->n_entries; i++) {
        const tide_replay_entry *entry = &runs->entries[order[i]];
        int64_t bytes = entry->replay->by_device[device].peak_reserved_bytes;
        if (bytes <= best_bytes + best_bytes / 100 * SIMPLER_PERCENT &&
            n_settings(entry->name) < n_settings(found->name) &&
            helps(runs, entry->replay, device, failed_row)) {
            found = entry;
        }
    }
    return found;
}

static void choose(const tide_replay_runs *runs, size_t device, int64_t failed_row,
                   tide_remedy *ret) {
    const tide_replay *base = runs->entries[runs->base].replay;
    int64_t base_bytes = base->by_device[device].peak_reserved_bytes;
    int64_t recorded_bytes = runs->recorded_by_device[device].peak_reserved_bytes;
    const tide_replay_entry *found = find_simplest(runs, device, failed_row);
    *ret =
        (tide_remedy){.recorded_bytes = base_bytes < recorded_bytes ? base_bytes : recorded_bytes};
    if (found != NULL) {
        ret->reserved_bytes = found->replay->by_device[device].peak_reserved_bytes;
        (void)snprintf(ret->settings, sizeof(ret->settings), "%s", found->name);
    }
}

tide_status tide_remedy_find(const tide_snapshot *snapshot, size_t device, int64_t failed_row,
                             const tide_replay_progress *progress, tide_remedy *ret_remedy,
                             tide_error *error) {
    const tide_replay_runs_options options = {.start = TIDE_REPLAY_START_AUTO,
                                              .limit_bytes = UINT64_MAX};
    tide_replay_runs runs = {.snapshot = snapshot};
    tide_status status = tide_replay_runs_init(&runs, snapshot, &options, error);
    if (status == TIDE_OK) {
        status = tide_replay_runs_add(&runs, NULL, error);
    }
    if (status == TIDE_OK) {
        status = tide_replay_runs_add_grid(&runs, error);
    }
    if (status == TIDE_OK) {
        status = tide_replay_runs_replay(&runs, progress, error);
    }
    if (status == TIDE_OK) {
        choose(&runs, device, failed_row, ret_remedy);
    }
    tide_replay_runs_fini(&runs);
    return status;
}
