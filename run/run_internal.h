/* run_internal.h - between the parts of run/: the engine, descriptions, JSON, subprocesses.
 */
#ifndef TIDE_RUN_RUN_INTERNAL_H
#define TIDE_RUN_RUN_INTERNAL_H

#include "run/fields.h"
#include "run/run.h"

enum { TIDE_N_ENVIRONMENT_FIELDS = 17 };
extern const tide_field tide_run_environment_fields[TIDE_N_ENVIRONMENT_FIELDS];

/* ---- results ---- */

/* Fills what follows from samples, tokens, flops and the stated peak. */
void tide_run_derive(tide_run_result *result);

/* Sets outcome, status, reason and error; the text of the status where `message` is empty. */
void tide_run_fail(tide_run_result *result, tide_outcome outcome, tide_status status,
                   const char *message);

/* ---- descriptions for snapshots ---- */

/* What the snapshot says of the run. It borrows its texts from config and environment. The caller
 * sets the outcome where it is another than "completed", and what computed. */
void tide_run_describe(const tide_run_config *config, const tide_cache_config *cache,
                       const tide_run_environment *environment, tide_snapshot_run *ret_run);

/* The samples of a run as the snapshot has them. */
typedef struct tide_run_timing {
    tide_snapshot_timing timing;              /* its phases are those below */
    tide_snapshot_phase phases[TIDE_N_TIMED]; /* those that a step of the mode has */
} tide_run_timing;

/* Of our own model. `ret_timing` borrows the samples; measured_steps are those that were asked for.
 * `device` NULL: nothing was computed. */
void tide_run_describe_timing(const tide_workload_config *model, const tide_workload_result *timed,
                              const tide_device_info *device, double recorder_ns_per_event,
                              tide_run_timing *ret_timing);

/* ---- the engine ---- */

/* One run on its way. */
typedef struct tide_run_session {
    const tide_run_config *config; /* borrowed, as all here that is const */
    const tide_run_hooks *hooks;   /* never NULL */
    tide_run_result *result;
    tide_workload_config model;  /* the configuration's, with the progress functions */
    tide_cache_config limits;    /* of the cache */
    tide_device *device;         /* owned; NULL until it is opened, as the next three */
    tide_recorder *recorder;     /* owned; NULL, too, where nothing is recorded */
    tide_cache *cache;           /* owned; on the device */
    tide_workload *workload;     /* owned; on the cache */
    tide_workload_result timed;  /* samples up to where it came */
    tide_dumper *dumper;         /* owned; NULL: no snapshots while it runs */
    tide_snapshot_run described; /* for the dumper: the run as it is while it goes on */
    tide_run_stage stage;
} tide_run_session;

/* Runs our own model; fills the result but for what tide_run_here does for every kind. */
void tide_run_model_here(const tide_run_config *config, const tide_run_hooks *hooks,
                         tide_run_result *result);

/* Snapshots while it runs: on a signal, every k steps, and where something ends the process. */
TIDE_NODISCARD tide_status tide_run_dumps_begin(tide_run_session *session, tide_error *error);
/* After step n_done, warm-up included. */
void tide_run_dumps_step(tide_run_session *session, size_t n_done);
/* Waits for what is being written. Allowed where it never began. */
void tide_run_dumps_end(tide_run_session *session);

/* Once the snapshot is made: steps with and without recording, whose times are added to it. */
void tide_run_compare_recording(tide_run_session *session, tide_snapshot *snapshot);

/* ---- handing a configuration over ---- */

/* The caller deletes it; NULL: no host memory. */
cJSON *tide_run_config_to_json(const tide_run_config *config);
/* `ret_config` borrows its texts from `json`. TIDE_FORMAT names the key. */
TIDE_NODISCARD tide_status tide_run_config_from_json(const cJSON *json, tide_run_config *ret_config,
                                                     tide_error *error);

#endif
