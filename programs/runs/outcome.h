/* outcome.h - how a run ended, and every word for it: in rows and JSON, in snapshots, in tables.
 *
 * This is the only list of outcomes. Files of sweeps and snapshots keep the words, so a word in
 * this list never changes.
 */
#ifndef TIDE_PROGRAMS_RUNS_OUTCOME_H
#define TIDE_PROGRAMS_RUNS_OUTCOME_H

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_outcome {
    TIDE_OUTCOME_COMPLETED = 0,
    TIDE_OUTCOME_OOM,         /* the device or the memory limit had no room */
    TIDE_OUTCOME_NO_HOST,     /* cpu device: could not fit in the host's memory, so it was not
                                 started */
    TIDE_OUTCOME_UNSUPPORTED, /* the device or this build cannot do it, or the model does not
                                 exist */
    TIDE_OUTCOME_FAILED,      /* anything else that has a message */
    TIDE_OUTCOME_CRASHED,     /* a signal ended the subprocess, or it ended without a result */
    TIDE_OUTCOME_STOPPED,     /* the caller requested the stop (tide_run_hooks) */
    TIDE_N_OUTCOMES
} tide_outcome;

/* The word in rows of a sweep, in tables and in JSON: "completed", "out of memory", "host too
 * small", "not supported", "failed", "crashed", "stopped"; "?" out of range. */
const char *tide_outcome_name(int outcome);
/* The outcome of that name, or -1. */
int tide_outcome_from_name(const char *name);

/* The word in a snapshot's description of its run (snapshot/document/snapshot.h):
 * TIDE_SNAPSHOT_OOM, ...;
 * "?" out of range. */
const char *tide_outcome_in_snapshot(int outcome);

/* The answer to "does it fit?": "fits", "does not fit", "stopped", ...; "?" out of range. */
const char *tide_outcome_answer(int outcome);

/* The outcome of a run that returned this status, and the status of an outcome. Several failures
 * may have the same outcome; the reverse direction returns the most usual one. */
tide_outcome tide_outcome_of_status(tide_status status);
tide_status tide_outcome_status(tide_outcome outcome);

#ifdef __cplusplus
}
#endif

#endif
