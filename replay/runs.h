/* runs.h - several replays of one snapshot, each under its own settings, and the memory that they
 * would need.
 *
 * tide_replay_runs_init, then settings with tide_replay_runs_add and tide_replay_runs_add_grid,
 * then tide_replay_runs_replay. Nothing is printed; a function reports progress to the caller.
 */
#ifndef TIDE_REPLAY_RUNS_H
#define TIDE_REPLAY_RUNS_H

#include "replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_REPLAY_MAX_RUNS = 64, TIDE_REPLAY_NAME_BYTES = 160 };

/* The settings that all replays have in common. */
typedef struct tide_replay_runs_options {
    tide_replay_start start;
    uint64_t limit_bytes; /* memory limit of each device, instead of the recorded one; UINT64_MAX:
                             the recorded one */
    bool keep_rows;       /* keep the rows, for tide_replay_snapshot */
    size_t n_samples;     /* as in tide_replay_options */
} tide_replay_runs_options;

/* Called after each of many replays. */
typedef struct tide_replay_progress {
    void *ctx;                                                /* borrowed; the first argument */
    void (*update)(void *ctx, size_t n_done, size_t n_total); /* may be NULL */
} tide_replay_progress;

/* A replay under one of the settings. */
typedef struct tide_replay_entry {
    char name[TIDE_REPLAY_NAME_BYTES]; /* the settings as given */
    tide_cache_config config;
    tide_replay *replay; /* owned; NULL until it has run */
} tide_replay_entry;

/* The smallest limit of a device at which all recorded requests are served. This limit was
 * replayed; with 2 MiB less, a request runs out of memory. */
typedef struct tide_replay_need {
    /* Under the best of the settings; UINT64_MAX: not searched, or none found. */
    uint64_t limit_bytes;
    size_t entry;              /* these settings */
    uint64_t base_limit_bytes; /* under the first settings; UINT64_MAX: none was found */
} tide_replay_need;

typedef struct tide_replay_runs {
    const tide_snapshot *snapshot; /* borrowed; outlives the runs */
    tide_replay_runs_options options;
    tide_cache_config recorded;              /* settings */
    bool is_told;                            /* the file states all of them */
    bool has_grid;                           /* tide_replay_runs_add_grid was called */
    tide_replay_figures *recorded_by_device; /* owned; as many as the snapshot has devices */
    tide_replay_limit *limits; /* owned; by device: derived from its rows, if no limit is stated */
    uint64_t *limits_bytes;    /* owned; of these, for the engine */
    tide_replay_need *needs;   /* owned; by device; filled by tide_replay_runs_find_needs */
    tide_replay *verified; /* owned; the result of tide_replay_runs_verify; NULL: not requested */
    const char *verified_conf; /* borrowed; the settings of that replay; NULL: the recorded ones */
    tide_replay_entry entries[TIDE_REPLAY_MAX_RUNS];
    size_t n_entries;
    size_t base; /* the entry with which the others are compared; SIZE_MAX: the recording */
} tide_replay_runs;

/* Reads the recorded settings, and the figures of the recording on each device. Errors of
 * tide_replay_settings. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_replay_runs_init(tide_replay_runs *runs,
                                                 const tide_snapshot *snapshot,
                                                 const tide_replay_runs_options *options,
                                                 tide_error *error);
void tide_replay_runs_fini(tide_replay_runs *runs);

/* Adds the recorded settings, changed by `conf` (names and values as in PyTorch, separated by
 * commas). NULL: unchanged; these become the base. TIDE_INVALID, TIDE_UNSUPPORTED for settings that
 * are not valid. TIDE_LIMIT beyond TIDE_REPLAY_MAX_RUNS. */
TIDE_NODISCARD tide_status tide_replay_runs_add(tide_replay_runs *runs, const char *conf,
                                                tide_error *error);
/* Adds settings that change the reserved bytes of most runs, one by one and together: those that
 * the recorded PyTorch (or the newest) accepts, that the first entry allows, and that differ from
 * it. Needs a first entry. */
TIDE_NODISCARD tide_status tide_replay_runs_add_grid(tide_replay_runs *runs, tide_error *error);

/* Replays every entry. `progress` may be NULL, as below. Errors of tide_replay_run. */
TIDE_NODISCARD tide_status tide_replay_runs_replay(tide_replay_runs *runs,
                                                   const tide_replay_progress *progress,
                                                   tide_error *error);
/* Replays the recorded settings, changed by `conf` (NULL: unchanged; borrowed) from the recorded
 * start, and compares each address with the recorded one. */
TIDE_NODISCARD tide_status tide_replay_runs_verify(tide_replay_runs *runs, const char *conf,
                                                   tide_error *error);
/* Fills runs->needs of each device on which every entry ran out of memory, by further replays. */
TIDE_NODISCARD tide_status tide_replay_runs_find_needs(tide_replay_runs *runs,
                                                       const tide_replay_progress *progress,
                                                       tide_error *error);

/* Whether anything happened on the device. */
bool tide_replay_uses_device(const tide_replay_runs *runs, size_t device);
/* The memory limit of a device in the entries' runs: given, recorded, or found from its rows;
 * UINT64_MAX: none. Needs an entry. */
uint64_t tide_replay_limit_in_use(const tide_replay_runs *runs, size_t device);
/* The entries from the best to the worst on a device: first those that do not run out of memory,
 * then by fewer requests that do, fewer reserved bytes, fewer calls of the device, and their
 * order. */
void tide_replay_runs_rank(const tide_replay_runs *runs, size_t device,
                           size_t ret_order[TIDE_REPLAY_MAX_RUNS]);

#ifdef __cplusplus
}
#endif

#endif
