/* The figures of a forecast of time in a result. */
#include <stdio.h>

#include "programs/launch/time.h"
#include "programs/runs/run_friend.h"

void tide_run_time_figures(const tide_launch_time *time, tide_run_of_program *to) {
    const tide_time_forecast *of = &time->forecast;
    bool is_known = !of->is_lower_bound;
    to->step_low_ms = of->low.total_us * 1e-3;
    to->step_ms = is_known ? of->likely.total_us * 1e-3 : -1.0;
    to->step_high_ms = is_known ? of->high.total_us * 1e-3 : -1.0;
    to->gpu_ms = is_known ? of->likely.busy_us * 1e-3 : -1.0;
    to->gpu_low_ms = of->low.busy_us * 1e-3;
    to->gpu_high_ms = is_known ? of->high.busy_us * 1e-3 : -1.0;
    to->n_launches = (int64_t)of->n_launches;
    to->n_guessed = (int64_t)of->n_guessed;
    snprintf(to->step_bound, sizeof(to->step_bound), "%s", tide_time_limit_name(of->limit));
    tide_time_host_words(&of->host, of->has_own_card, to->host);
}

void tide_run_time_release(tide_run_result *result) {
    const tide_hostmem *mem = tide_hostmem_default();
    if (result->time != NULL) {
        tide_launch_time_fini(result->time);
        mem->release(mem->ctx, result->time);
        result->time = NULL;
    }
}
