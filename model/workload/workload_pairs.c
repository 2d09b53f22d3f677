/* workload_pairs.c - the cost of recording: recorded steps compared with unrecorded ones. */
#include "model/workload/workload_internal.h"
#include "recorder/recorder_friend.h"

/* One step of a pair, timed by the host's clock, because that is the time that a user waits. */
static tide_status run_pair_step(tide_workload *workload, bool is_recorded, size_t index,
                                 double *ret_ms, tide_error *error) {
    double loss = 0.0;
    tide_recorder_set_paused(workload->recorder, !is_recorded);
    tide_status status = tide_workload_step(workload, "pair", index, &loss, error);
    tide_recorder_set_paused(workload->recorder, false);
    if (status == TIDE_OK) {
        *ret_ms = workload->timers[TIDE_TIMED_STEP].host_ms;
    }
    return status;
}

/* The order alternates from pair to pair, so a drift of the machine's speed cancels. */
static tide_status run_pair(tide_workload *workload, size_t i, tide_workload_pairs *pairs,
                            tide_error *error) {
    bool recorded_first = i % 2 == 0;
    for (int k = 0; k < 2; k++) {
        bool is_recorded = (k == 0) == recorded_first;
        TIDE_TRY(run_pair_step(workload, is_recorded, i,
                               is_recorded ? &pairs->recorded_ms[i] : &pairs->unrecorded_ms[i],
                               error));
    }
    pairs->n_pairs++;
    return TIDE_OK;
}

tide_status tide_workload_run_pairs(tide_workload *workload, size_t n_pairs,
                                    tide_workload_pairs *ret_pairs, tide_error *error) {
    const tide_workload_config *config = &workload->config;
    double unused_ms = 0.0;
    *ret_pairs = (tide_workload_pairs){.mem = workload->mem};
    if (!workload->is_complete || !workload->computes || workload->recorder == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "recorded and unrecorded steps are compared after a run that was recorded "
                         "and completed, on a device that computes");
    }
    if (workload->is_captured) {
        return tide_fail(error, TIDE_INVALID,
                         "the replay of a graph records nothing, so there is nothing to compare");
    }
    ret_pairs->recorded_ms = tide_hostmem_zeroed(workload->mem, n_pairs, sizeof(double));
    ret_pairs->unrecorded_ms = tide_hostmem_zeroed(workload->mem, n_pairs, sizeof(double));
    if (ret_pairs->recorded_ms == NULL || ret_pairs->unrecorded_ms == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY,
                         "the host has no memory left for the samples of %zu pairs", n_pairs);
    }
    /* Writing a snapshot has changed the caches, so the first step is not measured. */
    TIDE_TRY(run_pair_step(workload, true, 0, &unused_ms, error));
    for (size_t i = 0; i < n_pairs; i++) {
        TIDE_TRY(run_pair(workload, i, ret_pairs, error));
        if (config->progress != NULL && !config->progress(config->progress_ctx, i + 1, n_pairs)) {
            break;
        }
    }
    return TIDE_OK;
}

void tide_workload_pairs_fini(tide_workload_pairs *pairs) {
    if (pairs->mem != NULL) {
        pairs->mem->release(pairs->mem->ctx, pairs->recorded_ms);
        pairs->mem->release(pairs->mem->ctx, pairs->unrecorded_ms);
    }
    *pairs = (tide_workload_pairs){.mem = NULL};
}
