/* plan_internal.h - the parts of a plan (plan.h): combine.c. */
#ifndef TIDE_PROGRAMS_PLAN_PLAN_INTERNAL_H
#define TIDE_PROGRAMS_PLAN_PLAN_INTERNAL_H

#include "programs/plan/plan.h"

/* Whether the program with this candidate alone was run to its end. */
static inline bool tide_plan_has_run(const tide_plan_candidate *candidate) {
    return candidate->state == TIDE_PLAN_RAN;
}

/* Takes what the candidate's own run showed: its worth, its time, or why it failed. */
void tide_plan_learn(tide_plan *plan, tide_plan_candidate *candidate);

/* Runs each open candidate alone, those that could save most first, as far as the budget goes
 * without `n_kept` runs. */
TIDE_NODISCARD tide_status tide_plan_run_singles(tide_plan *plan, size_t n_kept, tide_error *error);

/* Whether a change that was run alone saves enough memory or time to be combined with others. */
bool tide_plan_is_useful(const tide_plan *plan, const tide_plan_candidate *candidate);

/* The lowest peak of allocated bytes that a set of plan->combined could reach, and the expected
 * one, which is not lower. */
void tide_plan_predict(const tide_plan *plan, tide_plan_set set, int64_t *ret_lowest,
                       int64_t *ret_expected);

/* The run from which another change could help, and its set of plan->combined: the best, else the
 * set that needs least. */
size_t tide_plan_next_start(const tide_plan *plan, const tide_plan_answer *answer,
                            tide_plan_set *ret_set);

/* combine.c: steps 4 to 6. */
TIDE_NODISCARD tide_status tide_plan_combine(tide_plan *plan, tide_error *error);

/* combine.c: the fastest of the lists of --try that fits becomes plan->safe, and is run under the
 * card's own limit. */
TIDE_NODISCARD tide_status tide_plan_choose_named(tide_plan *plan, tide_error *error);

/* patched.c: writes the patch of the best, if one is wanted, and runs the patched program. */
TIDE_NODISCARD tide_status tide_plan_write_diff(tide_plan *plan, tide_error *error);

#endif
