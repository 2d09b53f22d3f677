/* The cost of recording in a step, measured after the snapshot was taken.
 *
 * The pairs run on the workload that has just been measured, with its recorder paused every other
 * step. They cannot be among the steps of the snapshot: a pause leaves a hole in the event log, and
 * rows after a hole fit no state before it. They do not need their own cache: the tables of the
 * snapshot are copies, so later events change neither its rows nor its addresses, and these steps
 * use the same blocks as the measured ones. */
#include <string.h>

#include "model/run/session_internal.h"

enum { MIN_PAIRS = 3, MAX_DEFAULT_PAIRS = 30 };

/* Time that the pairs may take by default: half of the time of the run's steps, so a run takes at
 * most 50 % longer; a second for quick ones; and never longer than users would wait for a figure
 * they did not request. */
static const double MIN_BUDGET_MS = 1e3;
static const double MAX_BUDGET_MS = 60e3;

static size_t pairs_by_time(const tide_workload_config *model, const tide_workload_result *timed) {
    double step_ms = tide_statistics_of(timed->host_ms[TIDE_TIMED_STEP], timed->n_samples).mean;
    if (step_ms <= 0.0) {
        return 0;
    }
    double budget_ms = 0.5 * step_ms * (double)(model->warmup_steps + model->steps);
    budget_ms = budget_ms < MIN_BUDGET_MS ? MIN_BUDGET_MS : budget_ms;
    budget_ms = budget_ms > MAX_BUDGET_MS ? MAX_BUDGET_MS : budget_ms;
    double n_pairs = (budget_ms / step_ms - 1.0) / 2.0; /* one step comes before the first pair */
    if (n_pairs >= (double)MAX_DEFAULT_PAIRS) {
        return MAX_DEFAULT_PAIRS;
    }
    return n_pairs >= (double)MIN_PAIRS ? (size_t)n_pairs : 0; /* fewer pairs are not meaningful */
}

static size_t n_pairs_of(const tide_run_session *session) {
    size_t n_asked = session->config->recording.overhead_pairs;
    if (session->result->outcome != TIDE_OUTCOME_COMPLETED || session->recorder == NULL ||
        session->model.cuda_graph || /* a replay records nothing */
        tide_device_get_info(session->device)->kind == TIDE_DEVICE_VIRTUAL) {
        return 0;
    }
    return n_asked == TIDE_RUN_PAIRS_BY_TIME ? pairs_by_time(&session->model, &session->timed)
                                             : n_asked;
}

/* False without memory. */
static bool keep(const tide_workload_pairs *pairs, tide_snapshot *snapshot) {
    size_t n = pairs->n_pairs;
    double *recorded = tide_arena_alloc(&snapshot->arena, n, sizeof(*recorded));
    double *unrecorded = tide_arena_alloc(&snapshot->arena, n, sizeof(*unrecorded));
    if (recorded == NULL || unrecorded == NULL) {
        return false;
    }
    memcpy(recorded, pairs->recorded_ms, n * sizeof(*recorded));
    memcpy(unrecorded, pairs->unrecorded_ms, n * sizeof(*unrecorded));
    snapshot->timing.recorded_step_ms = recorded;
    snapshot->timing.unrecorded_step_ms = unrecorded;
    snapshot->timing.n_recorder_pairs = n;
    return true;
}

void tide_run_compare_recording(tide_run_session *session, tide_snapshot *snapshot) {
    const tide_run_hooks *hooks = session->hooks;
    size_t n_pairs = n_pairs_of(session);
    tide_workload_pairs pairs;
    tide_error error = {""};
    if (n_pairs == 0) {
        return;
    }
    session->stage = TIDE_RUN_STAGE_PAIRS;
    tide_status status = tide_workload_run_pairs(session->workload, n_pairs, &pairs, &error);
    if (pairs.n_pairs > 0 && !keep(&pairs, snapshot) && status == TIDE_OK) {
        status = tide_fail(&error, TIDE_NO_MEMORY, "the host has no memory left");
    }
    tide_workload_pairs_fini(&pairs);
    if (status != TIDE_OK && hooks->note != NULL) {
        tide_error_prefix(&error, "what recording costs was not measured to the end");
        hooks->note(hooks->ctx, error.message);
    }
}
