#include "programs/plan/search.h"

#include <math.h>
#include <stdlib.h>

#include "common/assert.h"
#include "common/hostmem.h"

/* Bounds were missed by up to 0.4 %. */
#define BOUND_SLACK 0.01

enum { MOST_FAILED = 64 };

/* A combination before it was run. */
typedef struct candidate {
    tide_plan_set set;
    double gpu_ms;    /* predicted */
    bool is_expected; /* to fit; otherwise only its bound does */
} candidate;

typedef struct search {
    const tide_plan_problem *problem; /* borrowed, as the next two */
    const tide_plan_caller *caller;
    tide_plan_found *found;
    tide_plan_set failed[MOST_FAILED]; /* sets that do not fit; further ones are forgotten */
    size_t n_failed;
} search;

bool tide_plan_set_is_allowed(const tide_plan_problem *problem, tide_plan_set set) {
    for (size_t i = 0; i < problem->n_changes; i++) {
        for (size_t k = i + 1; k < problem->n_changes; k++) {
            if (tide_plan_has(set, i) && tide_plan_has(set, k) && problem->group[i] >= 0 &&
                problem->group[i] == problem->group[k]) {
                return false;
            }
        }
    }
    return true;
}

static double time_of(const tide_plan_problem *problem, tide_plan_set set) {
    double ms = problem->base_ms >= 0.0 ? problem->base_ms : (double)INFINITY;
    for (size_t i = 0; i < problem->n_changes; i++) {
        ms += tide_plan_has(set, i) ? problem->gpu_ms[i] : 0.0;
    }
    return ms;
}

static size_t size_of(tide_plan_set set) {
    size_t n = 0;
    for (; set != 0; set &= set - 1) {
        n++;
    }
    return n;
}

/* Those that are expected to fit first; of these the fastest, then the one with fewest changes. */
static int by_promise(const void *a, const void *b) {
    const candidate *one = a;
    const candidate *other = b;
    if (one->is_expected != other->is_expected) {
        return one->is_expected ? -1 : 1;
    }
    if (one->gpu_ms < other->gpu_ms || one->gpu_ms > other->gpu_ms) {
        return one->gpu_ms < other->gpu_ms ? -1 : 1;
    }
    size_t n = size_of(one->set);
    size_t n_other = size_of(other->set);
    return n != n_other ? (n < n_other ? -1 : 1)
                        : (one->set > other->set) - (one->set < other->set);
}

/* All combinations whose bound fits, in the order in which they are tried. */
static size_t list(const search *of, candidate *all) {
    const tide_plan_problem *problem = of->problem;
    size_t n = 0;
    for (tide_plan_set set = 0; set < (tide_plan_set)1 << problem->n_changes; set++) {
        int64_t lowest = 0;
        int64_t expected = 0;
        if ((set & ~problem->usable) != 0 || !tide_plan_set_is_allowed(problem, set)) {
            continue;
        }
        of->caller->predict(of->caller->ctx, set, &lowest, &expected);
        TIDE_ASSERT(lowest <= expected);
        if ((double)lowest * (1.0 - BOUND_SLACK) <= (double)problem->room_bytes) {
            all[n++] = (candidate){set, time_of(problem, set), expected <= problem->room_bytes};
        }
    }
    qsort(all, n, sizeof(*all), by_promise);
    return n;
}

/* A part of what does not fit does not fit either, unless a change that raises the peak is left
 * out. */
static bool is_part_of_failed(const search *of, tide_plan_set set) {
    for (size_t i = 0; i < of->n_failed; i++) {
        tide_plan_set left_out = of->failed[i] & ~set;
        if ((set & ~of->failed[i]) == 0 && (left_out & of->problem->raises) == 0) {
            return true;
        }
    }
    return false;
}

/* Without a forecast all times are infinite, and the first that fits is the best. */
static bool is_faster(double ms, const tide_plan_found *than) {
    return !than->has_best || ms < than->of_best.gpu_ms;
}

static tide_status attempt(search *of, const candidate *next, tide_error *error) {
    tide_plan_tried tried = {.gpu_ms = -1.0};
    TIDE_TRY(of->caller->run(of->caller->ctx, next->set, &tried, error));
    of->found->n_tried++;
    if (tried.is_complete && tried.fits && is_faster(tried.gpu_ms, of->found)) {
        of->found->has_best = true;
        of->found->best = next->set;
        of->found->of_best = tried;
    } else if (tried.is_complete && !tried.fits && of->n_failed < MOST_FAILED) {
        of->failed[of->n_failed++] = next->set;
    }
    return TIDE_OK;
}

tide_status tide_plan_search(const tide_plan_problem *problem, const tide_plan_caller *caller,
                             tide_plan_found *ret, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    search of = {.problem = problem, .caller = caller, .found = ret};
    tide_status status = TIDE_OK;
    TIDE_ASSERT(problem->n_changes <= TIDE_PLAN_CHANGES);
    *ret = (tide_plan_found){.is_whole = true};
    candidate *all = tide_hostmem_array(mem, (size_t)1 << problem->n_changes, sizeof(*all));
    if (all == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n = list(&of, all);
    for (size_t i = 0; i < n && status == TIDE_OK; i++) {
        bool is_needed = is_faster(all[i].gpu_ms, ret) && (all[i].is_expected || !ret->has_best);
        if (!is_needed || is_part_of_failed(&of, all[i].set)) {
            continue;
        }
        if (!caller->may_run(caller->ctx, all[i].set)) {
            ret->is_whole = false;
            continue; /* a later one may have been run before */
        }
        status = attempt(&of, &all[i], error);
    }
    mem->release(mem->ctx, all);
    return status;
}
