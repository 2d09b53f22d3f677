#include "programs/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/bytes.h"
#include "programs/launch/cards.h"
#include "programs/plan/plan_internal.h"
#include "programs/plan/settings.h"

/* Runs that are kept back from single changes, for combinations and the proof of the best. */
#define KEPT_SHARE 0.4
/* Of a bound: a run that is above it by less has reached it. */
#define NEAR_BOUND 0.001

enum { STEPS_TO_WORTH = 20 }; /* halvings: each is a walk */

int64_t tide_plan_room_of(const tide_plan *plan, const tide_plan_run *run) {
    int64_t base_bytes = plan->runs.rows[plan->base_row].others_bytes;
    int64_t more_bytes =
        run->others_bytes >= 0 && base_bytes >= 0 ? run->others_bytes - base_bytes : 0;
    return plan->room_bytes - (more_bytes > 0 ? more_bytes : 0);
}

bool tide_plan_fits(const tide_plan *plan, const tide_plan_run *run) {
    return run->is_done && run->is_complete && !run->is_refuted &&
           (run->memory.reserved_peak_bytes <= tide_plan_room_of(plan, run) ||
            run->fitting_setting[0] != '\0');
}

void tide_plan_set_words(const tide_plan *plan, tide_plan_set set,
                         char ret_words[TIDE_PLAN_LIST_BYTES]) {
    size_t n_used = 0;
    ret_words[0] = '\0';
    for (size_t i = 0; i < plan->n_combined; i++) {
        if (tide_plan_has(set, i)) {
            int n = snprintf(ret_words + n_used, TIDE_PLAN_LIST_BYTES - n_used, "%s%s",
                             n_used > 0 ? "," : "", plan->candidates.rows[plan->combined[i]].name);
            n_used += n > 0 ? (size_t)n : 0;
            TIDE_ASSERT(n_used < TIDE_PLAN_LIST_BYTES);
            n_used = n_used < TIDE_PLAN_LIST_BYTES ? n_used : TIDE_PLAN_LIST_BYTES - 1;
        }
    }
}

static const tide_plan_candidate *possible_of(const tide_plan *plan, const char *name, size_t n) {
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const tide_plan_candidate *row = &plan->candidates.rows[i];
        if (row->detail != NULL && strncmp(row->name, name, n) == 0 && row->name[n] == '\0') {
            return row;
        }
    }
    return NULL;
}

int64_t tide_plan_lowest(const tide_plan *plan, const char *changes) {
    const tide_plan_shares *shares[TIDE_PLAN_CANDIDATES];
    double whole[TIDE_PLAN_CANDIDATES];
    size_t n = 0;
    for (const char *at = changes; *at != '\0';) {
        size_t n_name = strcspn(at, ",");
        const tide_plan_candidate *row = possible_of(plan, at, n_name);
        if (row == NULL || n == TIDE_PLAN_CANDIDATES) {
            return -1;
        }
        shares[n] = &row->shares;
        whole[n++] = 1.0;
        at += n_name + (at[n_name] == ',');
    }
    return tide_plan_peak(&plan->timeline, shares, whole, n, NULL);
}

tide_plan_risk tide_plan_set_risk(const tide_plan *plan, tide_plan_set set) {
    tide_plan_risk risk = TIDE_PLAN_SAME;
    for (size_t i = 0; i < plan->n_combined; i++) {
        tide_plan_risk own = plan->candidates.rows[plan->combined[i]].risk;
        risk = tide_plan_has(set, i) && own > risk ? own : risk;
    }
    return risk;
}

static tide_status find_setting(tide_plan *plan, size_t row, tide_error *error) {
    tide_plan_run *run = &plan->runs.rows[row];
    return tide_plan_find_setting(run, tide_plan_room_of(plan, run), error);
}

/* ---- the unchanged program ---- */

/* The memory of the card that the program may use, or of the stated room. */
static tide_status limit_of(const tide_plan_options *options, int64_t *ret_bytes,
                            tide_error *error) {
    char cards[TIDE_LAUNCH_CARDS_BYTES];
    tide_card card;
    const tide_run_limits *limits = &options->config->limits;
    TIDE_TRY(tide_launch_cards(limits->device, cards, error));
    bool is_known = tide_launch_card(cards, 0, &card);
    if (is_known && options->room_bytes > card.total_bytes) {
        char words[TIDE_BYTES_TEXT];
        return tide_fail(error, TIDE_INVALID, "--room is more than the card has, which is %s",
                         tide_bytes_format(card.total_bytes, words));
    }
    if (options->room_bytes >= 0) {
        *ret_bytes = options->room_bytes;
    } else if (limits->memory_limit_bytes != TIDE_RUN_UNLIMITED) {
        *ret_bytes = (int64_t)limits->memory_limit_bytes;
    } else if (is_known) {
        *ret_bytes = card.total_bytes;
    } else {
        return tide_fail(error, TIDE_INVALID, "--device %s: no card of that name", limits->device);
    }
    return TIDE_OK;
}

static tide_status check_first(const tide_plan *plan, const tide_plan_run *run, tide_error *error) {
    if (plan->runs.is_stopped || !run->is_done) {
        return TIDE_OK;
    }
    if (!run->is_complete) {
        return tide_fail(error, TIDE_INVALID, "the unchanged program does not run: %s",
                         run->reason);
    }
    return run->snapshot_path[0] != '\0'
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "the unchanged program left no history of its allocations");
}

/* With the card's limit only if it may not fit: below it both runs are the same. */
static tide_status run_unchanged(tide_plan *plan, tide_error *error) {
    int64_t limit_bytes = 0;
    TIDE_TRY(limit_of(plan->options, &limit_bytes, error));
    plan->base_row = tide_plan_runs_add(&plan->runs, "", "", TIDE_PLAN_WITHOUT_LIMIT);
    TIDE_TRY(tide_plan_runs_do(&plan->runs, error));
    const tide_plan_run *base = &plan->runs.rows[plan->base_row];
    TIDE_TRY(check_first(plan, base, error));
    if (plan->runs.is_stopped) {
        return TIDE_OK;
    }
    plan->runs.can_share = plan->runs.can_share && tide_plan_runs_is_one_process(&plan->runs, base);
    int64_t others_bytes = base->others_bytes >= 0 ? base->others_bytes : 0;
    plan->room_bytes = limit_bytes - others_bytes;
    if (plan->room_bytes <= 0) {
        char words[TIDE_BYTES_TEXT];
        return tide_fail(error, TIDE_INVALID,
                         "nothing is left for PyTorch: the context and libraries take %s of the "
                         "card's memory",
                         tide_bytes_format(others_bytes, words));
    }
    if (base->memory.reserved_peak_bytes <= plan->room_bytes) {
        plan->fits_unchanged = true;
        return TIDE_OK;
    }
    plan->limited_row = tide_plan_runs_add(&plan->runs, "", "", TIDE_PLAN_WITH_LIMIT);
    TIDE_TRY(tide_plan_runs_do(&plan->runs, error));
    const tide_plan_run *limited = &plan->runs.rows[plan->limited_row];
    plan->fits_unchanged = limited->is_done && limited->is_complete;
    return TIDE_OK;
}

static tide_status look_at_unchanged(tide_plan *plan, tide_error *error) {
    const tide_plan_run *base = &plan->runs.rows[plan->base_row];
    TIDE_TRY(tide_snapshot_load(base->snapshot_path, NULL, &plan->snapshot, error));
    if (plan->snapshot->n_plan == 0) {
        return tide_fail(
            error, TIDE_INVALID,
            "the program makes no optimizer of PyTorch, so there is nothing to change; python -E, "
            "-I "
            "and -S, and a command that replaces PYTHONPATH, cannot be observed either");
    }
    TIDE_TRY(tide_plan_timeline_init(&plan->timeline, plan->snapshot, error));
    return tide_plan_candidates_init(&plan->candidates, &plan->timeline, &plan->options->allowed);
}

/* ---- each change alone ---- */

/* The part of the change with which the walk saves what the run saved. If it cannot matter alone,
 * its part is unknown, and counts whole. It also does if the run nearly reached the bound: the
 * peak may be elsewhere, and then any part saves nearly the same. */
static double worth_of(const tide_plan *plan, const tide_plan_candidate *candidate) {
    const tide_plan_shares *shares = &candidate->shares;
    int64_t did_bytes = plan->candidates.peak_bytes - candidate->saved_bytes;
    double low = 0.0;
    double high = 1.0;
    bool is_known = tide_plan_may_matter(candidate->lowest_bytes, plan->candidates.peak_bytes);
    bool is_reached = (double)did_bytes <= (1.0 + NEAR_BOUND) * (double)candidate->lowest_bytes;
    if (!is_known || is_reached || candidate->saved_bytes <= 0) {
        return !is_known || is_reached ? 1.0 : 0.0;
    }
    for (size_t i = 0; i < STEPS_TO_WORTH; i++) {
        double middle = 0.5 * (low + high);
        bool is_enough = tide_plan_peak(&plan->timeline, &shares, &middle, 1, NULL) <= did_bytes;
        *(is_enough ? &high : &low) = middle;
    }
    return 0.5 * (low + high);
}

void tide_plan_learn(tide_plan *plan, tide_plan_candidate *candidate) {
    const tide_plan_run *base = &plan->runs.rows[plan->base_row];
    const tide_plan_run *run = &plan->runs.rows[candidate->row];
    if (!run->is_done) {
        candidate->state = TIDE_PLAN_NOT_RUN;
        return;
    }
    if (!run->is_complete) {
        candidate->state = run->is_refused ? TIDE_PLAN_REFUSED : TIDE_PLAN_FAILED;
        (void)snprintf(candidate->reason, sizeof(candidate->reason), "%s", run->reason);
        return;
    }
    candidate->state = TIDE_PLAN_RAN;
    candidate->gpu_ms =
        run->gpu_ms >= 0.0 && base->gpu_ms >= 0.0 ? run->gpu_ms - base->gpu_ms : 0.0;
    candidate->saved_bytes = base->memory.allocated_peak_bytes - run->memory.allocated_peak_bytes;
    candidate->worth = worth_of(plan, candidate);
}

/* What may save time last: it seldom makes a program fit. */
static int by_bound(const void *a, const void *b) {
    const tide_plan_candidate *one = *(const tide_plan_candidate *const *)a;
    const tide_plan_candidate *other = *(const tide_plan_candidate *const *)b;
    if (one->lowest_bytes != other->lowest_bytes) {
        return one->lowest_bytes < other->lowest_bytes ? -1 : 1;
    }
    return strcmp(one->name, other->name);
}

tide_status tide_plan_run_singles(tide_plan *plan, size_t n_kept, tide_error *error) {
    tide_plan_candidate *open[TIDE_PLAN_CANDIDATES];
    size_t n = 0;
    for (size_t i = 0; i < plan->candidates.n; i++) {
        if (plan->candidates.rows[i].state == TIDE_PLAN_OPEN) {
            open[n++] = &plan->candidates.rows[i];
        }
    }
    qsort(open, n, sizeof(open[0]), by_bound);
    for (size_t i = 0; i < n; i++) {
        if (tide_plan_runs_may_add(&plan->runs, 1 + n_kept)) {
            open[i]->row =
                tide_plan_runs_add(&plan->runs, open[i]->name, "", TIDE_PLAN_WITHOUT_LIMIT);
        } else {
            open[i]->state = TIDE_PLAN_NOT_RUN;
        }
    }
    TIDE_TRY(tide_plan_runs_do(&plan->runs, error));
    for (size_t i = 0; i < n; i++) {
        if (open[i]->row != SIZE_MAX) {
            tide_plan_learn(plan, open[i]);
            TIDE_TRY(find_setting(plan, open[i]->row, error));
        }
    }
    return TIDE_OK;
}

/* ---- the plan ---- */

/* The lists of --try are run as they are, and nothing is searched. If the unchanged program fits,
 * this is the answer. */
static tide_status run_named(tide_plan *plan, tide_error *error) {
    const tide_plan_allowed *allowed = &plan->options->allowed;
    for (size_t i = 0; i < allowed->n_names && tide_plan_runs_may_add(&plan->runs, 1); i++) {
        (void)tide_plan_runs_add(&plan->runs, allowed->names[i], "", TIDE_PLAN_WITHOUT_LIMIT);
    }
    TIDE_TRY(tide_plan_runs_do(&plan->runs, error));
    for (size_t i = 0; i < plan->runs.n; i++) {
        TIDE_TRY(find_setting(plan, i, error));
    }
    if (plan->runs.is_stopped || (plan->fits_unchanged && plan->limited_row == SIZE_MAX)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_plan_choose_named(plan, error));
    return plan->runs.is_stopped ? TIDE_OK : tide_plan_write_diff(plan, error);
}

bool tide_plan_has_answer(const tide_plan *plan) {
    for (size_t i = 0; i < plan->runs.n && plan->options->allowed.n_names > 0; i++) {
        if (tide_plan_fits(plan, &plan->runs.rows[i])) {
            return true;
        }
    }
    return plan->fits_unchanged || plan->safe.has_best || plan->all.has_best;
}

static size_t kept_runs(const tide_plan_options *options) {
    return (size_t)(KEPT_SHARE * (double)options->n_most_runs);
}

/* Single changes that had no run, while runs were kept for combinations, of which some are left. */
static bool open_again(tide_plan *plan) {
    bool is_any = false;
    for (size_t i = 0; i < plan->candidates.n && tide_plan_runs_may_add(&plan->runs, 2); i++) {
        tide_plan_candidate *row = &plan->candidates.rows[i];
        if (row->state == TIDE_PLAN_NOT_RUN && row->row == SIZE_MAX) {
            row->state = TIDE_PLAN_OPEN;
            is_any = true;
        }
    }
    return is_any;
}

tide_status tide_plan_init(tide_plan *plan, const tide_plan_options *options, tide_error *error) {
    *plan = (tide_plan){.options = options,
                        .runs = {.config = options->config,
                                 .own = options->own,
                                 .hooks = options->hooks,
                                 .folder = options->folder,
                                 .room_bytes = options->room_bytes,
                                 .n_jobs = options->n_jobs,
                                 .n_most = options->n_most_runs},
                        .limited_row = SIZE_MAX,
                        .safe = {.verified_row = SIZE_MAX, .diff_row = SIZE_MAX},
                        .all = {.verified_row = SIZE_MAX, .diff_row = SIZE_MAX}};
    TIDE_TRY(tide_plan_check_names(&options->allowed, error));
    TIDE_TRY(tide_plan_can_share_import(&options->config->workload.of.program,
                                        &plan->runs.can_share, error));
    TIDE_TRY(tide_plan_runs_init(&plan->runs));
    TIDE_TRY(run_unchanged(plan, error));
    if (plan->runs.is_stopped) {
        return TIDE_OK;
    }
    TIDE_TRY(look_at_unchanged(plan, error));
    TIDE_TRY(find_setting(plan, plan->base_row, error));
    if (options->allowed.n_names > 0) {
        return run_named(plan, error);
    }
    TIDE_TRY(tide_plan_run_singles(plan, kept_runs(options), error));
    if (!plan->runs.is_stopped) {
        TIDE_TRY(tide_plan_combine(plan, error));
    }
    if (!plan->runs.is_stopped && open_again(plan)) {
        TIDE_TRY(tide_plan_run_singles(plan, 1, error));
        TIDE_TRY(plan->runs.is_stopped ? TIDE_OK : tide_plan_combine(plan, error));
    }
    return plan->runs.is_stopped ? TIDE_OK : tide_plan_write_diff(plan, error);
}

void tide_plan_fini(tide_plan *plan) {
    tide_plan_candidates_fini(&plan->candidates);
    tide_plan_timeline_fini(&plan->timeline);
    tide_snapshot_destroy(plan->snapshot);
    tide_plan_runs_fini(&plan->runs);
}
