#include "programs/plan/settings.h"

#include <stdio.h>
#include <string.h>

#include "replay/runs.h"
#include "snapshot/analysis/lifetimes.h"

/* The simplest first: a setting that many programs use, then one setting, then two. */
static int rank_of(const char *setting) {
    if (strcmp(setting, "expandable_segments:True") == 0) {
        return 0;
    }
    return strchr(setting, ',') == NULL ? 1 : 2;
}

/* The simplest setting that fits, if one is needed; of equals the one with the lowest peak. And the
 * lowest peak of all. */
static void choose(const tide_replay_runs *runs, size_t device, int64_t room_bytes,
                   tide_plan_run *run) {
    int best = 3;
    for (size_t i = 1; i < runs->n_entries; i++) { /* the first is the recorded one */
        const tide_replay_entry *entry = &runs->entries[i];
        const tide_replay_figures *figures = &entry->replay->by_device[device];
        int rank = rank_of(entry->name);
        bool is_less =
            figures->n_ooms == 0 && figures->peak_reserved_bytes < run->least_reserved_bytes;
        run->least_reserved_bytes =
            is_less ? figures->peak_reserved_bytes : run->least_reserved_bytes;
        bool fits = figures->n_ooms == 0 && figures->peak_reserved_bytes <= room_bytes &&
                    run->memory.reserved_peak_bytes > room_bytes;
        bool is_better = rank < best || (rank == best && figures->peak_reserved_bytes <
                                                             run->fitting_reserved_bytes);
        if (fits && is_better) {
            best = rank;
            run->fitting_reserved_bytes = figures->peak_reserved_bytes;
            (void)snprintf(run->fitting_setting, sizeof(run->fitting_setting), "%s", entry->name);
        }
    }
}

static tide_status replay(const tide_snapshot *snapshot, size_t device, int64_t room_bytes,
                          tide_plan_run *run, tide_error *error) {
    const tide_replay_runs_options options = {.limit_bytes = UINT64_MAX};
    tide_replay_runs runs;
    tide_status status = tide_replay_runs_init(&runs, snapshot, &options, error);
    status = status == TIDE_OK ? tide_replay_runs_add(&runs, NULL, error) : status;
    status = status == TIDE_OK ? tide_replay_runs_add_grid(&runs, error) : status;
    status = status == TIDE_OK ? tide_replay_runs_replay(&runs, NULL, error) : status;
    if (status == TIDE_OK) {
        choose(&runs, device, room_bytes, run);
    }
    tide_replay_runs_fini(&runs);
    return status == TIDE_FORMAT || status == TIDE_UNSUPPORTED ? TIDE_OK : status;
}

/* The device with the highest peak. */
static tide_status find_device(const tide_snapshot *snapshot, size_t *ret_device,
                               tide_error *error) {
    tide_lifetimes lifetimes;
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), error));
    *ret_device = tide_lifetimes_main_device(&lifetimes);
    tide_lifetimes_fini(&lifetimes);
    return TIDE_OK;
}

tide_status tide_plan_find_setting(tide_plan_run *run, int64_t room_bytes, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    size_t device = 0;
    bool was_replayed = run->least_reserved_bytes > 0;
    if (!run->is_complete || run->snapshot_path[0] == '\0' || was_replayed) {
        return TIDE_OK;
    }
    run->least_reserved_bytes = run->memory.reserved_peak_bytes;
    TIDE_TRY(tide_snapshot_load(run->snapshot_path, NULL, &snapshot, error));
    tide_status status = find_device(snapshot, &device, error);
    if (status == TIDE_OK) {
        status = replay(snapshot, device, room_bytes, run, error);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}
