/* needs_internal.h - the search for the smallest memory limit at which a run survives, under the
 * best of several settings. It knows the runs only by their outcomes.
 */
#ifndef TIDE_REPLAY_NEEDS_INTERNAL_H
#define TIDE_REPLAY_NEEDS_INTERNAL_H

#include "replay/runs.h"

/* In place of a limit: none. */
#define TIDE_REPLAY_NO_LIMIT ((uint64_t)INT64_MAX)

/* The runs that the search tries. */
typedef struct tide_replay_trials {
    void *ctx;             /* In place of a limit: unlimited. */
    size_t n_entries;      /* settings */
    uint64_t in_use_bytes; /* the limit under which all entries ran out of memory */
    /* Runs an entry with a limit; its peak is that of the reserved bytes. */
    tide_status (*run)(void *ctx, size_t entry, uint64_t limit_bytes, bool *ret_survives,
                       int64_t *ret_peak_bytes, tide_error *error);
} tide_replay_trials;

/* `ret_need` is filled on success. `progress` may be NULL. */
TIDE_NODISCARD tide_status tide_replay_find_need(const tide_replay_trials *trials,
                                                 const tide_replay_progress *progress,
                                                 tide_replay_need *ret_need, tide_error *error);

#endif
