/* The results of one run that was made several times, as one. */
#include <string.h>

#include "programs/runs/run_friend.h"

/* The samples of all results in a row; NULL if there are none, or without memory. */
static double *joined(const tide_run_result *results, size_t n, bool is_device, size_t phase,
                      size_t n_samples) {
    double *samples = NULL;
    size_t n_used = 0;
    for (size_t i = 0; i < n; i++) {
        const double *from = is_device ? results[i].device_ms[phase] : results[i].host_ms[phase];
        if (from == NULL) {
            continue;
        }
        if (samples == NULL) {
            samples = tide_hostmem_zeroed(tide_hostmem_default(), n_samples, sizeof(*samples));
        }
        if (samples == NULL) {
            return NULL;
        }
        memcpy(samples + n_used, from, results[i].n_samples * sizeof(*samples));
        n_used += results[i].n_samples;
    }
    return samples;
}

void tide_run_result_join(const tide_run_result *results, size_t n, tide_run_result *ret_result) {
    size_t first = 0;
    while (first < n && results[first].outcome == TIDE_OUTCOME_COMPLETED) {
        first++;
    }
    bool is_whole = first == n;
    const tide_run_result *from = is_whole ? results : &results[first];
    size_t n_from = is_whole ? n : 1;
    *ret_result = *from;
    ret_result->mem = tide_hostmem_default();
    ret_result->snapshot = NULL;
    ret_result->n_samples = 0;
    for (size_t i = 0; i < n_from; i++) {
        ret_result->n_samples += from[i].n_samples;
    }
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        bool is_timed = from->host_ms[i] != NULL && ret_result->n_samples > 0;
        ret_result->host_ms[i] =
            is_timed ? joined(from, n_from, false, i, ret_result->n_samples) : NULL;
        ret_result->device_ms[i] =
            is_timed ? joined(from, n_from, true, i, ret_result->n_samples) : NULL;
        if (is_timed && (ret_result->host_ms[i] == NULL || ret_result->device_ms[i] == NULL)) {
            tide_run_result_fini(ret_result);
            tide_run_result_refuse(ret_result, TIDE_NO_MEMORY, "no host memory for its samples");
            return;
        }
    }
    tide_run_derive(ret_result);
}
