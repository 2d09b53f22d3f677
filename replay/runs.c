/* Several replays of one snapshot: their settings, and the memory that each needs. */
#include "replay/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/ranges.h"
#include "common/assert.h"
#include "replay/needs_internal.h"

/* Settings that change the reserved bytes of a run, one by one and together. The grid has those
 * that the recorded PyTorch accepts. */
static const char *const GRID[] = {
    "expandable_segments:True",
    "expandable_segments:False",
    "max_split_size_mb:32",
    "max_split_size_mb:64",
    "max_split_size_mb:128",
    "max_split_size_mb:256",
    "max_split_size_mb:512",
    "roundup_power2_divisions:2",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:16",
    "large_segment_size_mb:12",
    "large_segment_size_mb:32",
    "large_segment_size_mb:64",
    "expandable_segments:True,large_segment_size_mb:12",
    "expandable_segments:True,roundup_power2_divisions:8",
    "max_split_size_mb:128,roundup_power2_divisions:8",
};

/* These need a limit. */
static const char *const GRID_LIMITED[] = {
    "garbage_collection_threshold:0.6",
    "garbage_collection_threshold:0.8",
    "garbage_collection_threshold:0.9",
    "garbage_collection_threshold:0.8,max_split_size_mb:128",
};

static tide_status add_entry(tide_replay_runs *runs, const char *name,
                             const tide_cache_config *config, tide_error *error) {
    if (runs->n_entries == TIDE_REPLAY_MAX_RUNS) {
        return tide_fail(error, TIDE_LIMIT, "more than %d replays at once",
                         (int)TIDE_REPLAY_MAX_RUNS);
    }
    tide_replay_entry *entry = &runs->entries[runs->n_entries++];
    entry->config = *config;
    snprintf(entry->name, sizeof(entry->name), "%s", name);
    return TIDE_OK;
}

tide_status tide_replay_runs_add(tide_replay_runs *runs, const char *conf, tide_error *error) {
    tide_cache_config config = runs->recorded;
    if (runs->options.limit_bytes != UINT64_MAX) {
        config.memory_limit_bytes = (size_t)runs->options.limit_bytes;
    }
    if (conf != NULL) {
        TIDE_TRY(tide_cache_config_parse(&config, conf, error));
    } else {
        runs->base = runs->n_entries;
    }
    return add_entry(runs, conf != NULL ? conf : "recorded settings", &config, error);
}

/* The version of PyTorch that the snapshot records; the newest if it records none. */
static int recorded_torch(const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_software; i++) {
        if (strcmp(snapshot->software[i].name, "torch") == 0) {
            return tide_setting_torch_of(snapshot->software[i].text);
        }
    }
    return TIDE_TORCH_NEWEST;
}

/* The settings of the grid that PyTorch and the recorded settings allow, and that change something.
 */
static tide_status add_some(tide_replay_runs *runs, const char *const *confs, size_t n_confs,
                            tide_error *error) {
    TIDE_ASSERT(runs->n_entries > 0);
    int torch = recorded_torch(runs->snapshot);
    for (size_t i = 0; i < n_confs; i++) {
        tide_error ignored = {""};
        tide_cache_config config = runs->entries[0].config;
        if (tide_setting_ranges_hold(confs[i], torch) &&
            tide_cache_config_parse(&config, confs[i], &ignored) == TIDE_OK &&
            !tide_replay_config_equal(&config, &runs->entries[0].config)) {
            TIDE_TRY(add_entry(runs, confs[i], &config, error));
        }
    }
    return TIDE_OK;
}

tide_status tide_replay_runs_add_grid(tide_replay_runs *runs, tide_error *error) {
    bool is_limited = false;
    runs->has_grid = true;
    TIDE_TRY(add_some(runs, GRID, sizeof(GRID) / sizeof(GRID[0]), error));
    for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
        is_limited = is_limited || tide_replay_limit_in_use(runs, i) != UINT64_MAX;
    }
    return is_limited
               ? add_some(runs, GRID_LIMITED, sizeof(GRID_LIMITED) / sizeof(GRID_LIMITED[0]), error)
               : TIDE_OK;
}

tide_status tide_replay_runs_replay(tide_replay_runs *runs, const tide_replay_progress *progress,
                                    tide_error *error) {
    for (size_t i = 0; i < runs->n_entries; i++) {
        tide_replay_entry *entry = &runs->entries[i];
        const tide_replay_options options = {.config = &entry->config,
                                             .start = runs->options.start,
                                             .keep_rows = runs->options.keep_rows,
                                             .n_samples = runs->options.n_samples,
                                             .limits_bytes = runs->limits_bytes};
        tide_status status = tide_replay_run(runs->snapshot, &options, &entry->replay, error);
        if (status != TIDE_OK) {
            if (status != TIDE_FORMAT) { /* that error is about the file, not the settings */
                tide_error_prefix(error, "%s", entry->name);
            }
            return status;
        }
        if (progress != NULL && progress->update != NULL) {
            progress->update(progress->ctx, i + 1, runs->n_entries);
        }
    }
    return TIDE_OK;
}

tide_status tide_replay_runs_verify(tide_replay_runs *runs, const char *conf, tide_error *error) {
    tide_cache_config config = runs->recorded;
    if (conf != NULL) {
        TIDE_TRY(tide_cache_config_parse(&config, conf, error));
    }
    const tide_replay_options options = {.config = &config,
                                         .start = TIDE_REPLAY_START_RECORDED,
                                         .verify = true,
                                         .keep_rows = runs->options.keep_rows,
                                         .n_samples = runs->options.n_samples};
    runs->verified_conf = conf;
    return tide_replay_run(runs->snapshot, &options, &runs->verified, error);
}

/* Reads the recorded figures of each device, and its limit from its rows if it is not stated. */
static tide_status look_at_devices(tide_replay_runs *runs, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = runs->snapshot->n_devices;
    bool is_known = runs->options.limit_bytes != UINT64_MAX ||
                    runs->recorded.memory_limit_bytes != TIDE_UNLIMITED;
    runs->recorded_by_device = tide_hostmem_zeroed(mem, n + 1, sizeof(*runs->recorded_by_device));
    runs->limits = tide_hostmem_zeroed(mem, n + 1, sizeof(*runs->limits));
    runs->limits_bytes = tide_hostmem_zeroed(mem, n + 1, sizeof(*runs->limits_bytes));
    runs->needs = tide_hostmem_zeroed(mem, n + 1, sizeof(*runs->needs));
    if (runs->recorded_by_device == NULL || runs->limits == NULL || runs->limits_bytes == NULL ||
        runs->needs == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu devices", n);
    }
    for (size_t i = 0; i < n; i++) {
        runs->limits[i] = is_known ? (tide_replay_limit){.limit_bytes = UINT64_MAX}
                                   : tide_replay_limit_of(runs->snapshot, (uint8_t)i);
        runs->limits_bytes[i] = runs->limits[i].limit_bytes;
        runs->needs[i] =
            (tide_replay_need){.limit_bytes = UINT64_MAX, .base_limit_bytes = UINT64_MAX};
    }
    return tide_replay_recorded(runs->snapshot, runs->recorded_by_device, error);
}

bool tide_replay_uses_device(const tide_replay_runs *runs, size_t device) {
    const tide_replay_figures *figures = &runs->recorded_by_device[device];
    return figures->peak_reserved_bytes > 0 || figures->n_ooms > 0;
}

uint64_t tide_replay_limit_in_use(const tide_replay_runs *runs, size_t device) {
    TIDE_ASSERT(runs->n_entries > 0);
    size_t config_bytes = runs->entries[0].config.memory_limit_bytes;
    return runs->limits_bytes[device] != UINT64_MAX ? runs->limits_bytes[device]
           : config_bytes != TIDE_UNLIMITED         ? config_bytes
                                                    : UINT64_MAX;
}

/* ---- ranks ---- */

/* The result of an entry on one device. */
typedef struct ranked {
    size_t entry;
    const tide_replay_figures *figures; /* borrowed; of that device */
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *left = a;
    const ranked *right = b;
    const tide_replay_figures *of_left = left->figures;
    const tide_replay_figures *of_right = right->figures;
    const int64_t keys[][2] = {
        {of_left->n_ooms, of_right->n_ooms},
        {of_left->peak_reserved_bytes, of_right->peak_reserved_bytes},
        {of_left->n_segment_allocs + of_left->n_segment_frees,
         of_right->n_segment_allocs + of_right->n_segment_frees},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return left->entry < right->entry ? -1 : 1;
}

void tide_replay_runs_rank(const tide_replay_runs *runs, size_t device,
                           size_t ret_order[TIDE_REPLAY_MAX_RUNS]) {
    ranked order[TIDE_REPLAY_MAX_RUNS];
    for (size_t i = 0; i < runs->n_entries; i++) {
        TIDE_ASSERT(runs->entries[i].replay != NULL);
        order[i] = (ranked){i, &runs->entries[i].replay->by_device[device]};
    }
    qsort(order, runs->n_entries, sizeof(order[0]), compare_ranked);
    for (size_t i = 0; i < runs->n_entries; i++) {
        ret_order[i] = order[i].entry;
    }
}

/* ---- the memory needed ---- */

/* A search on one device. */
typedef struct search {
    const tide_replay_runs *runs; /* borrowed */
    size_t device;
    uint64_t *limits_bytes; /* borrowed; by device; the other devices are never limited */
} search;

/* A trial of needs_internal.h. */
static tide_status run_with_limit(void *ctx, size_t entry, uint64_t limit_bytes, bool *ret_survives,
                                  int64_t *ret_peak_bytes, tide_error *error) {
    const search *in = ctx;
    tide_replay *replay = NULL;
    in->limits_bytes[in->device] = limit_bytes;
    const tide_replay_options options = {.config = &in->runs->entries[entry].config,
                                         .start = in->runs->options.start,
                                         .limits_bytes = in->limits_bytes};
    TIDE_TRY(tide_replay_run(in->runs->snapshot, &options, &replay, error));
    *ret_survives = replay->by_device[in->device].n_ooms == 0;
    *ret_peak_bytes = replay->by_device[in->device].peak_reserved_bytes;
    tide_replay_destroy(replay);
    return TIDE_OK;
}

/* Whether there is a limit and every entry ran out of memory under it. */
static bool is_hopeless(const tide_replay_runs *runs, size_t device) {
    for (size_t i = 0; i < runs->n_entries; i++) {
        if (runs->entries[i].replay->by_device[device].n_ooms == 0) {
            return false;
        }
    }
    return tide_replay_limit_in_use(runs, device) != UINT64_MAX;
}

tide_status tide_replay_runs_find_needs(tide_replay_runs *runs,
                                        const tide_replay_progress *progress, tide_error *error) {
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
            in.limits_bytes[i] = TIDE_REPLAY_NO_LIMIT;
        }
        if (is_hopeless(runs, in.device)) {
            const tide_replay_trials trials = {.ctx = &in,
                                               .n_entries = runs->n_entries,
                                               .in_use_bytes =
                                                   tide_replay_limit_in_use(runs, in.device),
                                               .run = run_with_limit};
            status = tide_replay_find_need(&trials, progress, &runs->needs[in.device], error);
        }
    }
    mem->release(mem->ctx, in.limits_bytes);
    return status;
}

/* ---- the whole ---- */

tide_status tide_replay_runs_init(tide_replay_runs *runs, const tide_snapshot *snapshot,
                                  const tide_replay_runs_options *options, tide_error *error) {
    *runs = (tide_replay_runs){.snapshot = snapshot, .options = *options, .base = SIZE_MAX};
    TIDE_TRY(tide_replay_settings(snapshot, &runs->recorded, &runs->is_told, error));
    return look_at_devices(runs, error);
}

void tide_replay_runs_fini(tide_replay_runs *runs) {
    tide_replay_destroy(runs->verified);
    for (size_t i = 0; i < runs->n_entries; i++) {
        tide_replay_destroy(runs->entries[i].replay);
    }
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, runs->recorded_by_device);
    mem->release(mem->ctx, runs->limits);
    mem->release(mem->ctx, runs->limits_bytes);
    mem->release(mem->ctx, runs->needs);
}
