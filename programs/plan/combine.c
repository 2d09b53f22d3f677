/* The search for the best combination of a plan, what could help it further, and its proof. */
#include <math.h>
#include <stdlib.h>

#include "common/text/list.h"
#include "programs/plan/plan_internal.h"
#include "programs/plan/settings.h"

/* A change that saves less of the card's time does not save time. */
#define LEAST_TIME_SHARE 0.005

enum { MOST_ROUNDS = 4, RUNS_OF_PROOF = 1 };

static tide_plan_candidate *candidate_of(const tide_plan *plan, size_t bit) {
    return &plan->candidates.rows[plan->combined[bit]];
}

static const tide_plan_run *base_of(const tide_plan *plan) {
    return &plan->runs.rows[plan->base_row];
}

/* ---- what is combined ---- */

static bool saves_time(const tide_plan *plan, const tide_plan_candidate *candidate) {
    return candidate->gpu_ms < -LEAST_TIME_SHARE * base_of(plan)->gpu_ms;
}

bool tide_plan_is_useful(const tide_plan *plan, const tide_plan_candidate *candidate) {
    return tide_plan_has_run(candidate) &&
           (saves_time(plan, candidate) ||
            (double)candidate->saved_bytes >=
                TIDE_PLAN_LEAST_SHARE * (double)plan->candidates.peak_bytes);
}

static bool is_combined(const tide_plan *plan, size_t candidate) {
    for (size_t i = 0; i < plan->n_combined; i++) {
        if (plan->combined[i] == candidate) {
            return true;
        }
    }
    return false;
}

static void combine(tide_plan *plan, size_t candidate) {
    if (is_combined(plan, candidate)) {
        return;
    }
    if (plan->n_combined < TIDE_PLAN_CHANGES) {
        plan->combined[plan->n_combined++] = candidate;
    } else {
        plan->is_cut = true;
    }
}

/* Those that save most first: a search has room for TIDE_PLAN_CHANGES. */
static void choose_combined(tide_plan *plan) {
    bool is_taken[TIDE_PLAN_CANDIDATES] = {false};
    for (size_t n = 0; n < plan->candidates.n; n++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < plan->candidates.n; i++) {
            const tide_plan_candidate *row = &plan->candidates.rows[i];
            bool is_better =
                best == SIZE_MAX || row->saved_bytes > plan->candidates.rows[best].saved_bytes;
            best = !is_taken[i] && tide_plan_is_useful(plan, row) && is_better ? i : best;
        }
        if (best == SIZE_MAX) {
            return;
        }
        is_taken[best] = true;
        combine(plan, best);
    }
}

/* ---- the search ---- */

/* Besides those that are kept for the proof of the best and of its patch. */
static bool has_runs(const tide_plan *plan) {
    size_t n_kept = RUNS_OF_PROOF + (plan->options->diff_path != NULL ? 1 : 0);
    return tide_plan_runs_may_add(&plan->runs, 1 + n_kept);
}

static bool may_run(void *ctx) {
    return has_runs(ctx);
}

static size_t row_of(const tide_plan *plan, tide_plan_set set) {
    char words[TIDE_PLAN_LIST_BYTES];
    tide_plan_set_words(plan, set, words);
    return tide_plan_runs_find(&plan->runs, words, "", TIDE_PLAN_WITHOUT_LIMIT);
}

static tide_status run_set(tide_plan *plan, tide_plan_set set, size_t *ret_row, tide_error *error) {
    char words[TIDE_PLAN_LIST_BYTES];
    tide_plan_set_words(plan, set, words);
    *ret_row = tide_plan_runs_add(&plan->runs, words, "", TIDE_PLAN_WITHOUT_LIMIT);
    TIDE_TRY(tide_plan_runs_do(&plan->runs, error));
    tide_plan_run *made = &plan->runs.rows[*ret_row];
    return tide_plan_find_setting(made, tide_plan_room_of(plan, made), error);
}

static tide_plan_tried tried_of(const tide_plan *plan, const tide_plan_run *run) {
    int64_t least = run->least_reserved_bytes;
    return (tide_plan_tried){.is_complete = run->is_done && run->is_complete,
                             .fits = tide_plan_fits(plan, run),
                             .gpu_ms = run->gpu_ms >= 0.0 ? run->gpu_ms : (double)INFINITY,
                             .needed_bytes = least > 0 ? least : run->memory.reserved_peak_bytes};
}

static bool recall(void *ctx, tide_plan_set set, tide_plan_tried *ret) {
    const tide_plan *plan = ctx;
    size_t row = row_of(plan, set);
    if (row == SIZE_MAX || !plan->runs.rows[row].is_done) {
        return false;
    }
    *ret = tried_of(plan, &plan->runs.rows[row]);
    return true;
}

static tide_status run(void *ctx, tide_plan_set set, tide_plan_tried *ret, tide_error *error) {
    tide_plan *plan = ctx;
    size_t row = 0;
    TIDE_TRY(run_set(plan, set, &row, error));
    *ret = tried_of(plan, &plan->runs.rows[row]);
    return TIDE_OK;
}

void tide_plan_predict(const tide_plan *plan, tide_plan_set set, int64_t *ret_lowest,
                       int64_t *ret_expected) {
    const tide_plan_shares *shares[TIDE_PLAN_CHANGES];
    double worth[TIDE_PLAN_CHANGES];
    double whole[TIDE_PLAN_CHANGES];
    size_t n = 0;
    for (size_t i = 0; i < plan->n_combined; i++) {
        if (tide_plan_has(set, i)) {
            shares[n] = &candidate_of(plan, i)->shares;
            worth[n] = candidate_of(plan, i)->worth;
            whole[n++] = 1.0;
        }
    }
    *ret_lowest = tide_plan_peak(&plan->timeline, shares, whole, n, NULL);
    int64_t expected = tide_plan_peak(&plan->timeline, shares, worth, n, NULL);
    *ret_expected = expected > *ret_lowest ? expected : *ret_lowest; /* sums are rounded */
}

static void predict(void *ctx, tide_plan_set set, int64_t *ret_lowest, int64_t *ret_expected) {
    tide_plan_predict(ctx, set, ret_lowest, ret_expected);
}

static tide_plan_problem problem_of(const tide_plan *plan, bool keeps_numbers) {
    tide_plan_problem problem = {.n_changes = plan->n_combined,
                                 .base_ms = base_of(plan)->gpu_ms,
                                 .room_bytes = plan->room_bytes};
    for (size_t i = 0; i < plan->n_combined; i++) {
        const tide_plan_candidate *candidate = candidate_of(plan, i);
        problem.group[i] = candidate->change->group;
        for (size_t k = 0; k < plan->n_combined; k++) {
            bool is_excluded = tide_plan_excludes(candidate, candidate_of(plan, k));
            problem.together[i] |= is_excluded ? 0 : (tide_plan_set)1 << k;
        }
        problem.gpu_ms[i] = candidate->gpu_ms;
        bool is_scaling = candidate->change->group == TIDE_PLAN_GROUP_PRECISION;
        problem.scales |= is_scaling ? (tide_plan_set)1 << i : 0;
        bool is_usable = !keeps_numbers || candidate->risk != TIDE_PLAN_NUMBERS;
        problem.usable |= is_usable ? (tide_plan_set)1 << i : 0;
    }
    return problem;
}

static tide_status search(tide_plan *plan, bool keeps_numbers, tide_plan_answer *ret,
                          tide_error *error) {
    const tide_plan_caller caller = {plan, may_run, recall, run, predict};
    tide_plan_problem problem = problem_of(plan, keeps_numbers);
    tide_plan_found found;
    TIDE_TRY(tide_plan_search(&problem, &caller, &found, error));
    *ret = (tide_plan_answer){.was_searched = true,
                              .has_best = found.has_best,
                              .set = found.best,
                              .verified_row = SIZE_MAX,
                              .diff_row = SIZE_MAX,
                              .is_whole = found.is_whole,
                              .n_tried = ret->n_tried + found.n_tried};
    ret->row = found.has_best ? row_of(plan, found.best) : SIZE_MAX;
    return TIDE_OK;
}

/* ---- what could help after all ---- */

size_t tide_plan_next_start(const tide_plan *plan, const tide_plan_answer *answer,
                            tide_plan_set *ret_set) {
    size_t best = plan->base_row;
    *ret_set = 0;
    if (answer->has_best) {
        *ret_set = answer->set;
        return answer->row;
    }
    for (tide_plan_set set = 1; set < (tide_plan_set)1 << plan->n_combined; set++) {
        size_t row = row_of(plan, set);
        const tide_plan_run *of = row != SIZE_MAX ? &plan->runs.rows[row] : NULL;
        if (of != NULL && of->is_done && of->is_complete &&
            tried_of(plan, of).needed_bytes < tried_of(plan, &plan->runs.rows[best]).needed_bytes) {
            best = row;
            *ret_set = set;
        }
    }
    return best;
}

/* Whether a change of the set excludes the candidate. */
static bool is_excluded(const tide_plan *plan, tide_plan_set set,
                        const tide_plan_candidate *candidate) {
    for (size_t i = 0; i < plan->n_combined; i++) {
        if (tide_plan_has(set, i) && tide_plan_excludes(candidate_of(plan, i), candidate)) {
            return true;
        }
    }
    return false;
}

/* A change that could not lower the first peak, or was of no use alone. */
static bool is_left(const tide_plan *plan, size_t candidate) {
    tide_plan_state state = plan->candidates.rows[candidate].state;
    return state == TIDE_PLAN_POINTLESS ||
           (state == TIDE_PLAN_RAN && !is_combined(plan, candidate));
}

/* One of these that could lower this peak. */
static tide_status find_further(const tide_plan *plan, size_t start, tide_plan_set set,
                                bool keeps_numbers, size_t *ret_candidate, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    tide_plan_timeline timeline = {.mem = NULL};
    *ret_candidate = SIZE_MAX;
    TIDE_TRY(tide_snapshot_load(plan->runs.rows[start].snapshot_path, NULL, &snapshot, error));
    tide_status status = tide_plan_timeline_init(&timeline, snapshot, error);
    int64_t peak = status == TIDE_OK ? tide_plan_peak(&timeline, NULL, NULL, 0, NULL) : 0;
    for (size_t i = 0; status == TIDE_OK && i < plan->candidates.n; i++) {
        int64_t lowest = peak;
        const tide_plan_candidate *candidate = &plan->candidates.rows[i];
        bool is_usable = !keeps_numbers || candidate->risk != TIDE_PLAN_NUMBERS;
        if (is_usable && is_left(plan, i) && !is_excluded(plan, set, candidate)) {
            status = tide_plan_could_reach(candidate, &timeline, &lowest);
        }
        if (status == TIDE_OK && tide_plan_may_matter(lowest, peak)) {
            *ret_candidate = i;
            break;
        }
    }
    tide_plan_timeline_fini(&timeline);
    tide_snapshot_destroy(snapshot);
    return status;
}

/* Runs it with the changes of the start. If it did not run alone, its time is the difference. Its
 * worth is unknown, so it counts whole. */
static tide_status run_further(tide_plan *plan, size_t start, tide_plan_set set, size_t number,
                               tide_error *error) {
    tide_plan_candidate *candidate = &plan->candidates.rows[number];
    bool ran_alone = candidate->state == TIDE_PLAN_RAN;
    size_t row = 0;
    candidate->state = ran_alone ? TIDE_PLAN_RAN : TIDE_PLAN_NOT_RUN;
    plan->is_cut = plan->is_cut || plan->n_combined == TIDE_PLAN_CHANGES;
    if (plan->n_combined == TIDE_PLAN_CHANGES || !has_runs(plan)) {
        return TIDE_OK;
    }
    set |= (tide_plan_set)1 << plan->n_combined; /* the next bit is that of the change */
    combine(plan, number);
    TIDE_TRY(run_set(plan, set, &row, error));
    const tide_plan_run *made = &plan->runs.rows[row];
    candidate->worth = 1.0;
    if (ran_alone) {
        return TIDE_OK;
    }
    candidate->row = row;
    tide_plan_learn(plan, candidate);
    candidate->worth = 1.0;
    double start_ms = plan->runs.rows[start].gpu_ms;
    candidate->gpu_ms = made->gpu_ms >= 0.0 && start_ms >= 0.0 ? made->gpu_ms - start_ms : 0.0;
    if (candidate->state != TIDE_PLAN_RAN) {
        plan->n_combined--;
    }
    return TIDE_OK;
}

/* Searches until no change is left that could help the best combination. */
static tide_status search_on(tide_plan *plan, bool keeps_numbers, tide_plan_answer *ret,
                             tide_error *error) {
    for (size_t round = 0; round < MOST_ROUNDS && !plan->runs.is_stopped; round++) {
        size_t further = SIZE_MAX;
        TIDE_TRY(search(plan, keeps_numbers, ret, error));
        tide_plan_set set = 0;
        size_t start = tide_plan_next_start(plan, ret, &set);
        if (start == plan->base_row || plan->runs.is_stopped) {
            return TIDE_OK;
        }
        TIDE_TRY(find_further(plan, start, set, keeps_numbers, &further, error));
        if (further == SIZE_MAX) {
            return TIDE_OK;
        }
        TIDE_TRY(run_further(plan, start, set, further, error));
    }
    return plan->runs.is_stopped ? TIDE_OK : search(plan, keeps_numbers, ret, error);
}

/* ---- the proof ---- */

static tide_status verify(tide_plan *plan, tide_plan_answer *answer, tide_error *error) {
    tide_plan_run *best = &plan->runs.rows[answer->row];
    bool needs_setting = best->memory.reserved_peak_bytes > tide_plan_room_of(plan, best);
    if (answer->verified_row != SIZE_MAX || !tide_plan_runs_may_add(&plan->runs, RUNS_OF_PROOF)) {
        return TIDE_OK;
    }
    answer->verified_row =
        tide_plan_runs_add(&plan->runs, best->changes, needs_setting ? best->fitting_setting : "",
                           TIDE_PLAN_WITH_LIMIT);
    TIDE_TRY(tide_plan_runs_do(&plan->runs, error));
    const tide_plan_run *proof = &plan->runs.rows[answer->verified_row];
    best->is_refuted = proof->is_done && !proof->is_complete;
    return TIDE_OK;
}

/* Whether the best would also fit without one of its changes, where that was run or its bound shows
 * it. The search has run those that were expected to fit and to be faster. */
static void look_at_parts(const tide_plan *plan, tide_plan_answer *answer) {
    for (size_t i = 0; i < plan->n_combined; i++) {
        tide_plan_set change = (tide_plan_set)1 << i;
        tide_plan_set rest = answer->set & ~change;
        if (!tide_plan_has(answer->set, i)) {
            continue;
        }
        int64_t lowest = 0;
        int64_t expected = 0;
        size_t row = row_of(plan, rest);
        bool was_run = row != SIZE_MAX && plan->runs.rows[row].is_done;
        tide_plan_predict(plan, rest, &lowest, &expected);
        bool is_too_large =
            (double)lowest * (1.0 - TIDE_PLAN_LEAST_SHARE) > (double)plan->room_bytes;
        answer->known |= was_run || is_too_large ? change : 0;
        answer->needed |=
            (was_run && !tide_plan_fits(plan, &plan->runs.rows[row])) || is_too_large ? change : 0;
    }
}

static tide_status answer_for(tide_plan *plan, bool keeps_numbers, tide_plan_answer *ret,
                              tide_error *error) {
    for (size_t round = 0; round < MOST_ROUNDS; round++) {
        TIDE_TRY(search_on(plan, keeps_numbers, ret, error));
        if (!ret->has_best || plan->runs.is_stopped) {
            return TIDE_OK;
        }
        TIDE_TRY(verify(plan, ret, error));
        if (!plan->runs.rows[ret->row].is_refuted) {
            look_at_parts(plan, ret);
            return TIDE_OK;
        }
    }
    ret->has_best = false;
    return TIDE_OK;
}

tide_status tide_plan_combine(tide_plan *plan, tide_error *error) {
    bool has_numbers = false;
    choose_combined(plan);
    TIDE_TRY(answer_for(plan, true, &plan->safe, error));
    for (size_t i = 0; i < plan->n_combined; i++) {
        has_numbers = has_numbers || candidate_of(plan, i)->risk == TIDE_PLAN_NUMBERS;
    }
    return has_numbers && !plan->runs.is_stopped ? answer_for(plan, false, &plan->all, error)
                                                 : TIDE_OK;
}

/* ---- lists of --try ---- */

/* The fastest that fits; without a forecast, the first. SIZE_MAX: none fits. */
static size_t best_named(const tide_plan *plan) {
    size_t best = SIZE_MAX;
    double best_ms = (double)INFINITY;
    for (size_t i = 0; i < plan->runs.n; i++) {
        const tide_plan_run *of = &plan->runs.rows[i];
        double ms = of->gpu_ms >= 0.0 ? of->gpu_ms : (double)INFINITY;
        bool is_named = of->changes[0] != '\0' && of->limit == TIDE_PLAN_WITHOUT_LIMIT;
        if (is_named && tide_plan_fits(plan, of) && (best == SIZE_MAX || ms < best_ms)) {
            best = i;
            best_ms = ms;
        }
    }
    return best;
}

/* The set of a list, whose changes become those that are combined. False: the first run did not
 * say of one of them that it is possible. */
static bool set_of_list(tide_plan *plan, const char *changes, tide_plan_set *ret) {
    size_t n_words = 0;
    plan->n_combined = 0;
    for (tide_list_word word; tide_list_next(&changes, &word); n_words++) {
        for (size_t i = 0; i < plan->candidates.n; i++) {
            const tide_plan_candidate *row = &plan->candidates.rows[i];
            if (row->detail != NULL && tide_list_word_is(word, row->name)) {
                combine(plan, i);
                break;
            }
        }
    }
    *ret = ((tide_plan_set)1 << plan->n_combined) - 1;
    return plan->n_combined == n_words;
}

tide_status tide_plan_choose_named(tide_plan *plan, tide_error *error) {
    for (size_t row = best_named(plan); row != SIZE_MAX && !plan->runs.is_stopped;
         row = best_named(plan)) {
        tide_plan_answer made = {.row = row, .verified_row = SIZE_MAX, .diff_row = SIZE_MAX};
        made.has_best = set_of_list(plan, plan->runs.rows[row].changes, &made.set);
        TIDE_TRY(verify(plan, &made, error));
        if (!plan->runs.rows[row].is_refuted) {
            look_at_parts(plan, &made);
            plan->safe = made;
            return TIDE_OK;
        }
    }
    return TIDE_OK;
}
