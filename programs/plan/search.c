#include "programs/plan/search.h"

#include <math.h>
#include <stdlib.h>

#include "common/assert.h"
#include "common/hostmem.h"

/* Bounds were missed by up to 0.4 %. */
#define BOUND_SLACK 0.01
/* Of the best time: a run that may save time, but is not expected to, must promise so much. */
#define LEAST_GAIN 0.005
/* A combination that is less likely to fit is not run, even if nothing fits. */
#define LEAST_CHANCE 1e-6
/* Standard deviations of an estimate, as parts of it, for each change that it differs by. That of
 * memory is at least so much, and otherwise as far as the predictions of the runs were off. */
#define LEAST_OFF_OF_MEMORY 0.03
#define OFF_OF_TIME 0.03
/* Where the time is expected between the sum and the scaled sum. */
#define SHARE_OF_SCALED (2.0 / 3.0)

/* A combination, and what is known or expected of it. */
typedef struct row {
    tide_plan_set set;
    double lowest_bytes, expected_bytes; /* predicted from the first run */
    double added_ms, scaled_ms;          /* the time if all changes add, and if some scale others */
    bool is_known;                       /* it was run: */
    tide_plan_tried tried;
    double needed_bytes, ms, n_off; /* estimated from the nearest runs, which are so far away */
    double off_ms;                  /* for the two ways of adding times */
} row;

typedef struct search {
    const tide_plan_problem *problem; /* borrowed, as the next two */
    const tide_plan_caller *caller;
    tide_plan_found *found;
    row *rows; /* owned: all combinations whose bound fits, and those that were run */
    size_t n;
    double slowest_ms;    /* of the estimates */
    double off_of_memory; /* part of an estimate for each change that it differs by */
} search;

size_t tide_plan_set_size(tide_plan_set set) {
    size_t n = 0;
    for (; set != 0; set &= set - 1) {
        n++;
    }
    return n;
}

bool tide_plan_set_is_allowed(const tide_plan_problem *problem, tide_plan_set set) {
    for (size_t i = 0; i < problem->n_changes; i++) {
        for (size_t k = i + 1; k < problem->n_changes; k++) {
            bool is_one_group = problem->group[i] >= 0 && problem->group[i] == problem->group[k];
            if (tide_plan_has(set, i) && tide_plan_has(set, k) && is_one_group &&
                !tide_plan_has(problem->together[i], k)) {
                return false;
            }
        }
    }
    return true;
}

static bool has_times(const search *of) {
    return of->problem->base_ms >= 0.0;
}

/* ---- what is known ---- */

/* Without a forecast all times are infinite, and the first that fits is the best. */
static void take(search *of, row *made) {
    tide_plan_found *found = of->found;
    bool is_better = !found->has_best || made->tried.gpu_ms < found->of_best.gpu_ms;
    made->is_known = true;
    if (made->tried.is_complete && made->tried.fits && is_better) {
        found->has_best = true;
        found->best = made->set;
        found->of_best = made->tried;
    }
}

/* ---- estimates ---- */

/* The time if changes add what they add alone, and if those of `scales` scale the sum of the
 * others. */
static void add_times(const tide_plan_problem *problem, row *of) {
    double others = problem->base_ms;
    double scaling = 0.0;
    double scale = 1.0;
    for (size_t i = 0; i < problem->n_changes; i++) {
        bool is_scaling = tide_plan_has(problem->scales, i) && problem->base_ms > 0.0;
        if (tide_plan_has(of->set, i)) {
            others += is_scaling ? 0.0 : problem->gpu_ms[i];
            scaling += is_scaling ? problem->gpu_ms[i] : 0.0;
            scale *= is_scaling ? 1.0 + problem->gpu_ms[i] / problem->base_ms : 1.0;
        }
    }
    of->added_ms = others + scaling;
    of->scaled_ms = others * scale;
}

static void list(search *of) {
    const tide_plan_problem *problem = of->problem;
    const tide_plan_caller *caller = of->caller;
    for (tide_plan_set set = 0; set < (tide_plan_set)1 << problem->n_changes; set++) {
        int64_t lowest = 0;
        int64_t expected = 0;
        if ((set & ~problem->usable) != 0 || !tide_plan_set_is_allowed(problem, set)) {
            continue;
        }
        caller->predict(caller->ctx, set, &lowest, &expected);
        TIDE_ASSERT(lowest <= expected);
        row *made = &of->rows[of->n];
        *made =
            (row){.set = set, .lowest_bytes = (double)lowest, .expected_bytes = (double)expected};
        add_times(problem, made);
        bool was_run = caller->recall(caller->ctx, set, &made->tried);
        if (was_run) {
            take(of, made);
        }
        bool may_fit = made->lowest_bytes * (1.0 - BOUND_SLACK) <= (double)problem->room_bytes;
        of->n += was_run || may_fit;
    }
}

/* Estimates of one combination from several runs: their mean. */
typedef struct means {
    size_t distance;
    double n, ratio, added_ms, scaled_ms; /* sums */
} means;

static void add_to(means *of, const row *from, const row *to) {
    of->n += 1.0;
    of->ratio += (double)from->tried.needed_bytes / from->expected_bytes;
    bool has_time = isfinite(from->tried.gpu_ms);
    of->added_ms += to->added_ms + (has_time ? from->tried.gpu_ms - from->added_ms : 0.0);
    of->scaled_ms += to->scaled_ms + (has_time ? from->tried.gpu_ms - from->scaled_ms : 0.0);
}

/* From the runs that differ by the fewest changes. */
static void estimate(const search *of, row *to) {
    means from = {.distance = TIDE_PLAN_CHANGES + 1};
    for (size_t i = 0; i < of->n; i++) {
        const row *one = &of->rows[i];
        if (!one->is_known || !one->tried.is_complete || one->expected_bytes <= 0.0) {
            continue;
        }
        size_t distance = tide_plan_set_size(one->set ^ to->set);
        if (distance < from.distance) {
            from = (means){.distance = distance};
        }
        if (distance == from.distance) {
            add_to(&from, one, to);
        }
    }
    bool is_any = from.n > 0.0;
    double added_ms = is_any ? from.added_ms / from.n : to->added_ms;
    double scaled_ms = is_any ? from.scaled_ms / from.n : to->scaled_ms;
    to->needed_bytes = to->expected_bytes * (is_any ? from.ratio / from.n : 1.0);
    to->ms = added_ms + SHARE_OF_SCALED * (scaled_ms - added_ms);
    to->off_ms = (1.0 - SHARE_OF_SCALED) * fabs(scaled_ms - added_ms);
    to->n_off = (double)(is_any ? from.distance : tide_plan_set_size(to->set) + 1);
}

/* The probability that a normal variable is below `z` standard deviations. */
static double chance_below(double z) {
    return 0.5 * (1.0 + erf(z * 0.7071067811865476));
}

/* The same of a logistic variable: memory is now and then much less than was expected. */
static double logistic_below(double z) {
    return 1.0 / (1.0 + exp(-z * 1.8137993642342178));
}

static double chance_to_fit(const search *of, const row *of_row) {
    double room = (double)of->problem->room_bytes;
    if (room <= 0.0 || of_row->lowest_bytes * (1.0 - BOUND_SLACK) > room) {
        return 0.0;
    }
    return of_row->needed_bytes <= 0.0 ? 1.0
                                       : logistic_below(log(room / of_row->needed_bytes) /
                                                        (of->off_of_memory * of_row->n_off));
}

/* The time that the run is expected to save, if it fits. */
static double gain_of(const search *of, const row *of_row) {
    static const double DENSITY = 0.3989422804014327; /* of a normal variable at 0 */
    double less = of->found->of_best.gpu_ms - of_row->ms;
    double of_time = OFF_OF_TIME * of_row->n_off * of_row->ms;
    double off = sqrt(of_time * of_time + of_row->off_ms * of_row->off_ms);
    double z = off > 0.0 ? less / off : 0.0;
    return off > 0.0 ? less * chance_below(z) + off * DENSITY * exp(-0.5 * z * z) : fmax(less, 0.0);
}

/* What a run is worth; 0: it is not made. */
static double value_of(const search *of, const row *of_row) {
    double chance = chance_to_fit(of, of_row);
    if (!of->found->has_best) {
        double share = has_times(of) && of->slowest_ms > 0.0 ? of_row->ms / of->slowest_ms : 1.0;
        return chance < LEAST_CHANCE ? 0.0 : chance * (2.0 - share);
    }
    double gain = has_times(of) ? chance * gain_of(of, of_row) : 0.0;
    bool is_better = chance >= 0.5 && of_row->ms < of->found->of_best.gpu_ms;
    return is_better || gain >= LEAST_GAIN * of->found->of_best.gpu_ms ? gain : 0.0;
}

/* The standard deviation of what runs needed, as a part of what was predicted. */
static double off_of_runs(const search *of) {
    double sum = 0.0;
    double squares = 0.0;
    double n = 0.0;
    for (size_t i = 0; i < of->n; i++) {
        const row *one = &of->rows[i];
        if (one->is_known && one->tried.is_complete && one->expected_bytes > 0.0 &&
            one->tried.needed_bytes > 0) {
            double off = log((double)one->tried.needed_bytes / one->expected_bytes);
            sum += off;
            squares += off * off;
            n += 1.0;
        }
    }
    double variance = n > 1.0 ? (squares - sum * sum / n) / (n - 1.0) : 0.0;
    return fmax(LEAST_OFF_OF_MEMORY, variance > 0.0 ? sqrt(variance) : 0.0);
}

/* The run that is worth most; of equals the one with fewest changes. NULL: none is worth one. */
static row *next_of(search *of) {
    row *best = NULL;
    double most = 0.0;
    of->slowest_ms = 0.0;
    of->off_of_memory = off_of_runs(of);
    for (size_t i = 0; i < of->n; i++) {
        estimate(of, &of->rows[i]);
        of->slowest_ms = fmax(of->slowest_ms, of->rows[i].ms);
    }
    for (size_t i = 0; i < of->n; i++) {
        row *one = &of->rows[i];
        double value = one->is_known ? 0.0 : value_of(of, one);
        bool is_smaller =
            best != NULL && tide_plan_set_size(one->set) < tide_plan_set_size(best->set);
        bool is_equal = best != NULL && !(value > most) && !(value < most);
        if (value > 0.0 && (value > most || (is_equal && is_smaller))) {
            best = one;
            most = value;
        }
    }
    return best;
}

/* ---- the search ---- */

static tide_status look(search *of, tide_error *error) {
    const tide_plan_caller *caller = of->caller;
    for (row *next = next_of(of); next != NULL; next = next_of(of)) {
        if (!caller->may_run(caller->ctx)) {
            of->found->is_whole = false;
            break;
        }
        TIDE_TRY(caller->run(caller->ctx, next->set, &next->tried, error));
        of->found->n_tried++;
        take(of, next);
    }
    return TIDE_OK;
}

tide_status tide_plan_search(const tide_plan_problem *problem, const tide_plan_caller *caller,
                             tide_plan_found *ret, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    search of = {.problem = problem, .caller = caller, .found = ret};
    TIDE_ASSERT(problem->n_changes <= TIDE_PLAN_CHANGES);
    *ret = (tide_plan_found){.is_whole = true};
    of.rows = tide_hostmem_array(mem, (size_t)1 << problem->n_changes, sizeof(*of.rows));
    if (of.rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    list(&of);
    tide_status status = look(&of, error);
    mem->release(mem->ctx, of.rows);
    return status;
}
