/* session_internal.h - shared by the parts of a run of our own model: the session, its description,
 * its forecast of time and its snapshots.
 */
#ifndef TIDE_MODEL_RUN_SESSION_INTERNAL_H
#define TIDE_MODEL_RUN_SESSION_INTERNAL_H

#include "model/run/model.h"
#include "programs/runs/run_friend.h"

/* ---- descriptions for snapshots ---- */

/* The description of the run for the snapshot. It borrows its texts from config and environment.
 * The caller sets the outcome if it is not "completed", and the processor that computed. */
void tide_run_describe(const tide_run_config *config, const tide_cache_config *cache,
                       const tide_run_environment *environment, tide_snapshot_run *ret_run);

/* The samples of a run in the form of the snapshot. */
typedef struct tide_run_timing {
    tide_snapshot_timing timing;              /* its phases are those below */
    tide_snapshot_phase phases[TIDE_N_TIMED]; /* those that a step of the mode has */
} tide_run_timing;

/* `ret_timing` borrows the samples; measured_steps is the number that was requested. `device` is
 * NULL if nothing was computed. */
void tide_run_describe_timing(const tide_workload_config *model, const tide_workload_result *timed,
                              const tide_device_info *device, double recorder_ns_per_event,
                              tide_run_timing *ret_timing);

/* ---- the session ---- */

/* One run on its way. */
typedef struct tide_run_session {
    const tide_run_config *config; /* borrowed, like every const pointer here */
    const tide_run_hooks *hooks;   /* never NULL */
    tide_run_result *result;
    tide_workload_config model;  /* the configuration's, with the progress functions */
    tide_cache_config limits;    /* of the cache */
    tide_device *device;         /* owned; NULL until it is opened, as the next three */
    tide_recorder *recorder;     /* owned; NULL also if nothing is recorded */
    tide_cache *cache;           /* owned; on the device */
    tide_workload *workload;     /* owned; on the cache */
    tide_workload_result timed;  /* samples up to the end of the run */
    tide_dumper *dumper;         /* owned; NULL: no snapshots during the run */
    tide_snapshot_run described; /* for the dumper: the description of the run in progress */
    tide_launch_list launches;   /* owned; the launches of the model's operators on a card */
    tide_run_stage stage;
    bool has_spilled;   /* a segment was placed in the host's memory */
    int64_t spill_step; /* of tide_run_memory, once one was */
} tide_run_session;

/* tide_run_kind.here of our own model. */
void tide_run_model_here(const tide_run_config *config, const tide_run_hooks *hooks,
                         tide_run_result *result);

/* model_time.c: the forecast of time on a virtual card. begin: before the workload is created;
 * make: after its run, stores the forecast in the result; add: into the result's snapshot. Without
 * a forecast the result has the reason, and these do nothing. */
void tide_run_time_begin(tide_run_session *session);
TIDE_NODISCARD tide_status tide_run_time_make(tide_run_session *session);
TIDE_NODISCARD tide_status tide_run_time_add(const tide_run_result *result);

/* Snapshots during the run: on a signal, every k steps, and at exit or abort of the process. */
TIDE_NODISCARD tide_status tide_run_dumps_begin(tide_run_session *session, tide_error *error);
/* Called after step n_done, warm-up included. */
void tide_run_dumps_step(tide_run_session *session, size_t n_done);
/* Waits for snapshots that are being written. May be called even if none was begun. */
void tide_run_dumps_end(tide_run_session *session);

/* Called after the snapshot was made: runs steps with and without recording and adds their times to
 * it. */
void tide_run_compare_recording(tide_run_session *session, tide_snapshot *snapshot);

#endif
