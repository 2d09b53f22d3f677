/* run_friend.h - for the engine of runs and for the kinds of workloads that other wings add: parts
 * of a result, and the handover of a configuration.
 */
#ifndef TIDE_PROGRAMS_RUNS_RUN_FRIEND_H
#define TIDE_PROGRAMS_RUNS_RUN_FRIEND_H

#include "programs/runs/fields.h"
#include "programs/runs/run.h"

enum { TIDE_N_ENVIRONMENT_FIELDS = 18 };
extern const tide_json_field tide_run_environment_fields[TIDE_N_ENVIRONMENT_FIELDS];

/* ---- results ---- */

/* Computes the figures that follow from samples, tokens, flops and the stated peak. */
void tide_run_derive(tide_run_result *result);

/* Sets outcome, status, reason and error; with an empty `message`, the text of the status is
 * used. */
void tide_run_fail(tide_run_result *result, tide_outcome outcome, tide_status status,
                   const char *message);

/* The figures of a forecast of time. */
struct tide_launch_time;
void tide_run_time_figures(const struct tide_launch_time *time, tide_run_of_program *to);
/* Releases the forecast of the result, if it has one. */
void tide_run_time_release(tide_run_result *result);

/* Runs a user's command: tide_run_kind.here. */
void tide_run_program_here(const tide_run_config *config, const tide_run_hooks *hooks,
                           tide_run_result *result);

/* ---- handing a configuration over ---- */

/* The caller deletes it; NULL without host memory. */
cJSON *tide_run_config_to_json(const tide_run_config *config);
/* `ret_config` borrows its texts from `json`. `other` as for tide_run_subprocess_main. The message
 * of TIDE_FORMAT names the key. */
TIDE_NODISCARD tide_status tide_run_config_from_json(const cJSON *json, const tide_run_kind *other,
                                                     tide_run_config *ret_config,
                                                     tide_error *error);

#endif
