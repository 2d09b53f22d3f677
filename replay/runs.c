/* The replays of one `tidemark replay`: which settings, and under which start. */
#include <stdio.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/replay/internal.h"

/* What changes the reserved bytes of a run, one by one and together. */
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
    "large_segment_size_mb:10",
    "large_segment_size_mb:12",
    "large_segment_size_mb:32",
    "large_segment_size_mb:64",
    "expandable_segments:True,large_segment_size_mb:10",
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

static tide_replay_start start_of(const tide_replay_command *command) {
    return strcmp(command->start, "recorded") == 0  ? TIDE_REPLAY_START_RECORDED
           : strcmp(command->start, "rebuilt") == 0 ? TIDE_REPLAY_START_REBUILT
                                                    : TIDE_REPLAY_START_AUTO;
}

/* Settings on top of the recorded ones; NULL: those themselves. */
static tide_status add_entry(tide_replay_runs *runs, const char *conf, tide_error *error) {
    if (runs->n_entries == TIDE_REPLAY_MAX_RUNS) {
        return tide_fail(error, TIDE_LIMIT, "more than %d replays at once",
                         (int)TIDE_REPLAY_MAX_RUNS);
    }
    tide_replay_entry *entry = &runs->entries[runs->n_entries];
    entry->config = runs->recorded;
    if (runs->command->limit_bytes != UINT64_MAX) {
        entry->config.memory_limit_bytes = (size_t)runs->command->limit_bytes;
    }
    if (conf != NULL) {
        tide_status status = tide_cache_config_parse(&entry->config, conf, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "--alloc-conf");
            return status;
        }
    }
    snprintf(entry->name, sizeof(entry->name), "%s", conf != NULL ? conf : "recorded settings");
    runs->n_entries++;
    return TIDE_OK;
}

/* Those of the grid that the recorded settings allow and that change something. */
static tide_status add_grid(tide_replay_runs *runs, const char *const *confs, size_t n_confs,
                            tide_error *error) {
    for (size_t i = 0; i < n_confs; i++) {
        tide_error ignored = {""};
        tide_cache_config config = runs->entries[0].config;
        if (tide_cache_config_parse(&config, confs[i], &ignored) == TIDE_OK &&
            !tide_replay_config_equal(&config, &runs->entries[0].config)) {
            TIDE_TRY(add_entry(runs, confs[i], error));
        }
    }
    return TIDE_OK;
}

/* The recorded settings are one entry where nothing else would be a base: the start is rebuilt, or
 * there is a limit that the recording did not have. */
static bool needs_base(const tide_replay_runs *runs) {
    const tide_replay_command *command = runs->command;
    return command->grid || command->limit_bytes != UINT64_MAX || command->confs.n == 0 ||
           start_of(command) == TIDE_REPLAY_START_REBUILT ||
           (start_of(command) == TIDE_REPLAY_START_AUTO && runs->snapshot->n_start_segments > 0);
}

static tide_status add_entries(tide_replay_runs *runs, tide_error *error) {
    const tide_replay_command *command = runs->command;
    runs->base = SIZE_MAX;
    if (needs_base(runs)) {
        runs->base = 0;
        TIDE_TRY(add_entry(runs, NULL, error));
    }
    for (size_t i = 0; i < command->confs.n; i++) {
        TIDE_TRY(add_entry(runs, command->confs.texts[i], error));
    }
    if (!command->grid) {
        return TIDE_OK;
    }
    TIDE_TRY(add_grid(runs, GRID, sizeof(GRID) / sizeof(GRID[0]), error));
    bool is_limited = false;
    for (size_t i = 0; i < runs->snapshot->n_devices; i++) {
        is_limited = is_limited || tide_replay_limit_in_use(runs, i) != UINT64_MAX;
    }
    if (!is_limited) {
        return TIDE_OK;
    }
    return add_grid(runs, GRID_LIMITED, sizeof(GRID_LIMITED) / sizeof(GRID_LIMITED[0]), error);
}

/* Nothing but the question whether the recording comes out. */
static bool only_verifies(const tide_replay_command *command) {
    return command->confs.n == 0 && !command->grid && command->limit_bytes == UINT64_MAX &&
           strcmp(command->start, "rebuilt") != 0;
}

tide_status tide_replay_run_entry(const tide_replay_runs *runs, size_t entry,
                                  const uint64_t *limits_bytes, tide_replay **ret_replay,
                                  tide_error *error) {
    const tide_replay_command *command = runs->command;
    bool is_asked_for = limits_bytes == NULL; /* not one of a search */
    const tide_replay_options options = {.config = &runs->entries[entry].config,
                                         .start = start_of(command),
                                         .keep_rows = is_asked_for && command->output != NULL,
                                         .n_samples = is_asked_for ? (size_t)command->n_samples : 0,
                                         .limits_bytes =
                                             is_asked_for ? runs->limits_bytes : limits_bytes};
    return tide_replay_run(runs->snapshot, &options, ret_replay, error);
}

static tide_status run_entries(tide_replay_runs *runs, tide_error *error) {
    tide_progress progress;
    tide_status status = TIDE_OK;
    tide_progress_begin(&progress, "replaying");
    for (size_t i = 0; i < runs->n_entries && status == TIDE_OK; i++) {
        tide_replay_entry *entry = &runs->entries[i];
        status = tide_replay_run_entry(runs, i, NULL, &entry->replay, error);
        if (status != TIDE_OK && status != TIDE_FORMAT) {
            tide_error_prefix(error, "%s", entry->name);
        }
        tide_progress_update(&progress, i + 1, runs->n_entries);
    }
    tide_progress_end(&progress);
    return status;
}

/* --verify --alloc-conf: the settings that the file does not tell. */
static tide_status verify(tide_replay_runs *runs, tide_error *error) {
    tide_cache_config config = runs->recorded;
    if (runs->command->verify && runs->command->confs.n > 0) {
        TIDE_TRY(tide_cache_config_parse(&config, runs->command->confs.texts[0], error));
    }
    const tide_replay_options options = {.config = &config,
                                         .start = TIDE_REPLAY_START_RECORDED,
                                         .verify = true,
                                         .keep_rows = runs->command->output != NULL,
                                         .n_samples = (size_t)runs->command->n_samples};
    return tide_replay_run(runs->snapshot, &options, &runs->verified, error);
}

/* What was recorded on each device, and the limits that its rows tell where nothing else does. */
static tide_status look_at_devices(tide_replay_runs *runs, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = runs->snapshot->n_devices;
    bool is_known = runs->command->limit_bytes != UINT64_MAX ||
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
        runs->needs[i].limit_bytes = UINT64_MAX;
    }
    return tide_replay_recorded(runs->snapshot, runs->recorded_by_device, error);
}

bool tide_replay_uses_device(const tide_replay_runs *runs, size_t device) {
    const tide_replay_figures *figures = &runs->recorded_by_device[device];
    return figures->peak_reserved_bytes > 0 || figures->n_ooms > 0;
}

uint64_t tide_replay_limit_in_use(const tide_replay_runs *runs, size_t device) {
    size_t config_bytes = runs->entries[0].config.memory_limit_bytes;
    return runs->limits_bytes[device] != UINT64_MAX ? runs->limits_bytes[device]
           : config_bytes != TIDE_UNLIMITED         ? config_bytes
                                                    : UINT64_MAX;
}

static tide_status check_command(const tide_replay_command *command, tide_error *error) {
    if (command->verify && (command->grid || command->limit_bytes != UINT64_MAX ||
                            command->confs.n > 1 || strcmp(command->start, "rebuilt") == 0)) {
        return tide_fail(
            error, TIDE_INVALID,
            "--verify replays the recorded settings, or those of one --alloc-conf: leave out "
            "--grid, --memory-limit, --start rebuilt and further --alloc-conf");
    }
    if (command->output != NULL && (command->grid || command->confs.n > 1)) {
        return tide_fail(
            error, TIDE_INVALID,
            "-o writes a single replayed run: give at most one --alloc-conf, and no --grid");
    }
    if (command->limit_bytes == 0) {
        return tide_fail(error, TIDE_INVALID, "--memory-limit 0: the limit must be above 0");
    }
    return TIDE_OK;
}

tide_status tide_replay_runs_init(tide_replay_runs *runs, const tide_snapshot *snapshot,
                                  const tide_replay_command *command, tide_error *error) {
    *runs = (tide_replay_runs){.snapshot = snapshot, .command = command, .base = SIZE_MAX};
    TIDE_TRY(check_command(command, error));
    TIDE_TRY(tide_replay_settings(snapshot, &runs->recorded, &runs->is_told, error));
    TIDE_TRY(look_at_devices(runs, error));
    if (command->verify || only_verifies(command)) {
        return verify(runs, error);
    }
    TIDE_TRY(add_entries(runs, error));
    TIDE_TRY(run_entries(runs, error));
    return command->grid ? tide_replay_find_needs(runs, error) : TIDE_OK;
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
