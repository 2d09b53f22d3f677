/* forecast.c - from launches to the time of a step.
 *
 *   the program on a virtual card
 *     |  launch_log.c (programs/virtual_cuda/launches/): a row for each launch, copy and wait
 *     v
 *   PID.launches --- log.c ----> rows and texts
 *                                  |              \
 *                    work.c: the time of each     ranges.c: where steps and phases begin and end
 *                    row on the card, by bytes,       |
 *                    operations and family            |
 *                                  |                  v
 *   constants.c, calibration.c -> replay.c: the clocks of host and streams, over the rows of a step
 *                                  |
 *                                  v
 *                    forecast.c: likely, low and high time; bound by the GPU, the host or either
 */
#include "programs/step_time/forecast.h"

#include <math.h>

#include "common/assert.h"
#include "programs/step_time/steady.h"

/* If the card works 1.4 times as long as an average host, 99 % were within 15 % without any
 * calibration. */
#define SURELY_GPU 1.4

static const tide_time_factors *likely_factors(double host, tide_time_factors *ret) {
    *ret = (tide_time_factors){.host = host, .end = TIDE_TIME_LIKELY};
    return ret;
}

static tide_status replay_range(const tide_time_model *model, const tide_time_range *range,
                                const tide_time_factors *factors, tide_time_totals *ret) {
    return tide_time_replay(model, factors, range->first, range->last, NULL, ret);
}

const char *tide_time_limit_name(tide_time_limit limit) {
    return limit == TIDE_TIME_GPU_BOUND    ? "the GPU"
           : limit == TIDE_TIME_HOST_BOUND ? "the host"
                                           : "the GPU or the host";
}

static bool launches_graph(const tide_time_model *model, const tide_time_range *range) {
    for (size_t i = range->first; i < range->last; i++) {
        if (model->log->rows[i].kind == TIDE_RUN_GRAPH_LAUNCH) {
            return true;
        }
    }
    return false;
}

/* A step that may be the one of the forecast. */
typedef struct candidate {
    uint64_t key; /* what it launches */
    double us;    /* INFINITY: left out */
} candidate;

/* Leaves out the steps that launch other rows than most do, if more than half are alike: a program
 * evaluates, generates or saves in some of its steps. */
static void leave_out_unlike(candidate *steps, size_t n) {
    size_t n_most = 0;
    size_t n_finite = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_alike = 0;
        n_finite += isfinite(steps[i].us) != 0;
        for (size_t j = 0; j < n; j++) {
            n_alike += isfinite(steps[j].us) != 0 && steps[j].key == steps[i].key;
        }
        most = n_alike > n_most ? steps[i].key : most;
        n_most = n_alike > n_most ? n_alike : n_most;
    }
    for (size_t i = 0; i < n && 2 * n_most > n_finite; i++) {
        steps[i].us = steps[i].key == most ? steps[i].us : INFINITY;
    }
}

/* The candidate at the lower quartile. */
static size_t lower_quartile(const candidate *steps, size_t n) {
    size_t n_finite = 0;
    for (size_t i = 0; i < n; i++) {
        n_finite += isfinite(steps[i].us) != 0;
    }
    TIDE_ASSERT(n_finite > 0);
    for (size_t i = 0; i < n; i++) {
        size_t n_below = 0;
        for (size_t j = 0; j < n; j++) {
            n_below += steps[j].us < steps[i].us || (steps[j].us == steps[i].us && j < i);
        }
        if (n_below == (n_finite - 1) / 4) {
            return i;
        }
    }
    return 0;
}

/* The step at the lower quartile of the times of the steps after the first that are alike, or of
 * the replays of a captured step: other work on a machine only ever slows the host down. If the
 * last step launches a CUDA graph, steps without one are the warm-up before its capture, and are
 * left out. */
static tide_status choose_step(const tide_time_model *model, const tide_time_ranges *ranges,
                               double host, size_t *ret_step) {
    const tide_hostmem *mem = model->log->mem;
    size_t first = ranges->n_before > 0 ? ranges->n_before : ranges->n_steps > 1 ? 1 : 0;
    size_t n = ranges->n_steps - first;
    bool is_graph = launches_graph(model, &ranges->steps[ranges->n_steps - 1]);
    tide_time_factors factors;
    candidate *steps = tide_hostmem_zeroed(mem, n, sizeof(*steps));
    tide_status status = steps != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 0; i < n && status == TIDE_OK; i++) {
        const tide_time_range *range = &ranges->steps[first + i];
        tide_time_totals totals = {0};
        status = replay_range(model, range, likely_factors(host, &factors), &totals);
        steps[i].key = tide_time_step_key(model->log, range);
        steps[i].us = launches_graph(model, range) == is_graph ? totals.total_us : INFINITY;
    }
    if (status == TIDE_OK) {
        leave_out_unlike(steps, n);
        *ret_step = first + lower_quartile(steps, n);
    }
    mem->release(mem->ctx, steps);
    return status;
}

static tide_status find_ends(const tide_time_model *model, const tide_time_range *range,
                             tide_time_forecast *to) {
    tide_time_factors factors;
    const tide_time_factors low = {to->host.least, TIDE_TIME_LEAST, false};
    const tide_time_factors high = {to->host.most, TIDE_TIME_MOST, true};
    TIDE_TRY(replay_range(model, range, likely_factors(to->host.factor, &factors), &to->likely));
    TIDE_TRY(replay_range(model, range, &low, &to->low));
    TIDE_TRY(replay_range(model, range, &high, &to->high));
    to->limit = to->likely.busy_us > SURELY_GPU * to->likely.host_us ? TIDE_TIME_GPU_BOUND
                : to->likely.host_us > to->likely.busy_us            ? TIDE_TIME_HOST_BOUND
                                                                     : TIDE_TIME_EITHER_BOUND;
    return TIDE_OK;
}

static tide_status time_phases(const tide_time_model *model, const tide_time_ranges *ranges,
                               tide_time_forecast *to) {
    tide_time_factors factors;
    for (size_t i = 0; i < TIDE_TIME_N_PHASES; i++) {
        to->phase_us[i] = -1.0;
    }
    for (size_t i = 0; i < ranges->n_phases; i++) {
        const tide_time_range *range = &ranges->phases[i];
        tide_time_totals totals;
        if (range->step == to->step) {
            TIDE_TRY(
                replay_range(model, range, likely_factors(to->host.factor, &factors), &totals));
            to->phase_us[range->phase] = fmax(0.0, to->phase_us[range->phase]) + totals.total_us;
        }
    }
    return TIDE_OK;
}

/* The work that the card could compute at its stated rates of the types during the step. */
static void measure_work(const tide_time_model *model, const tide_time_range *range,
                         tide_time_forecast *to) {
    double all_us = 0.0;
    double guessed_us = 0.0;
    double uncompared_us = 0.0;
    double error_us = 0.0;
    double at_peak_us = 0.0;
    for (size_t i = range->first; i < range->last; i++) {
        const tide_work_time *work = &model->work[i];
        double rate = tide_time_card_flops(model->card, model->log->rows[i].type);
        to->n_launches += work->us > 0.0;
        to->n_guessed += work->us > 0.0 && work->basis == TIDE_TIME_GUESSED;
        to->n_uncompared += work->us > 0.0 && work->us_of[TIDE_TIME_UNCOMPARED] > 0.0;
        all_us += work->us;
        guessed_us += work->us > 0.0 ? work->us_of[TIDE_TIME_GUESSED] : 0.0;
        uncompared_us += work->us > 0.0 ? work->us_of[TIDE_TIME_UNCOMPARED] : 0.0;
        error_us += work->us > 0.0 ? work->error_us : 0.0;
        to->flops += work->flops;
        at_peak_us += work->flops > 0.0 && rate > 0.0 ? work->flops / (rate * 1e-6) : 0.0;
    }
    to->guessed_share = all_us > 0.0 ? guessed_us / all_us : 0.0;
    to->uncompared_share = all_us > 0.0 ? uncompared_us / all_us : 0.0;
    double compared_us = all_us - guessed_us - uncompared_us;
    to->error_share = compared_us > 0.0 ? error_us / compared_us : 0.0;
    to->utilisation = at_peak_us > 0.0 ? at_peak_us / to->likely.total_us : -1.0;
    to->is_lower_bound = to->guessed_share > TIDE_TIME_MOST_GUESSED ||
                         (double)to->n_guessed > TIDE_TIME_MOST_GUESSED * (double)to->n_launches;
}

tide_status tide_time_forecast_init(const tide_time_model *model, const tide_time_ranges *ranges,
                                    const tide_time_host *host, tide_time_forecast *ret_forecast,
                                    tide_error *error) {
    *ret_forecast = (tide_time_forecast){.card = model->card,
                                         .n_steps = ranges->is_whole ? 0 : ranges->n_steps,
                                         .is_whole = ranges->is_whole,
                                         .host = *host,
                                         .waited_share = model->log->waited_share,
                                         .has_own_card = tide_time_host_has_card(host, model->card),
                                         .mem = model->log->mem};
    TIDE_TRY(choose_step(model, ranges, ret_forecast->host.factor, &ret_forecast->step));
    const tide_time_range *range = &ranges->steps[ret_forecast->step];
    ret_forecast->host.is_of_graph = launches_graph(model, range);
    TIDE_TRY(find_ends(model, range, ret_forecast));
    TIDE_TRY(time_phases(model, ranges, ret_forecast));
    measure_work(model, range, ret_forecast);
    if (ret_forecast->n_launches == 0) {
        return tide_fail(error, TIDE_INVALID, "the program gave the card nothing to do in a step");
    }
    return tide_time_kernels_of(model, range, &ret_forecast->kernels);
}

void tide_time_forecast_fini(tide_time_forecast *forecast) {
    if (forecast->mem != NULL) {
        forecast->mem->release(forecast->mem->ctx, forecast->kernels.rows);
    }
    *forecast = (tide_time_forecast){.mem = NULL};
}
