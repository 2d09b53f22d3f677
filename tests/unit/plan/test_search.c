/* test_search.c - the order in which combinations are tried, and what is never tried, on tables of
 * invented runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/plan/search.h"

enum { A = 1, B = 2, C = 4, MOST_SETS = 8 };

/* The runs of three changes, and what the search did with them. */
typedef struct table {
    int64_t peak[MOST_SETS];   /* that a run shows */
    double gpu_ms[MOST_SETS];  /* the same */
    int64_t lowest[MOST_SETS]; /* predicted, as the next */
    int64_t expected[MOST_SETS];
    bool fails[MOST_SETS]; /* the program fails with this set */
    bool was_run[MOST_SETS];
    int64_t room_bytes;
    size_t n_budget;
    tide_plan_set tried[16];
    size_t n_tried;
} table;

static tide_plan_tried tried_of(const table *of, tide_plan_set set) {
    return (tide_plan_tried){.is_complete = !of->fails[set],
                             .fits = of->peak[set] <= of->room_bytes,
                             .gpu_ms = of->gpu_ms[set],
                             .needed_bytes = of->peak[set]};
}

static bool may_run(void *ctx) {
    const table *of = ctx;
    return of->n_tried < of->n_budget;
}

static bool recall(void *ctx, tide_plan_set set, tide_plan_tried *ret) {
    const table *of = ctx;
    *ret = tried_of(of, set);
    return of->was_run[set];
}

static tide_status run(void *ctx, tide_plan_set set, tide_plan_tried *ret, tide_error *error) {
    table *of = ctx;
    (void)error;
    assert_false(of->was_run[set]);
    of->tried[of->n_tried++] = set;
    of->was_run[set] = true;
    *ret = tried_of(of, set);
    return TIDE_OK;
}

static void predict(void *ctx, tide_plan_set set, int64_t *ret_lowest, int64_t *ret_expected) {
    const table *of = ctx;
    *ret_lowest = of->lowest[set];
    *ret_expected = of->expected[set];
}

/* The unchanged program, and each change alone. */
static void know_singles(table *of) {
    of->was_run[0] = of->was_run[A] = of->was_run[B] = of->was_run[C] = true;
}

/* Peaks and times of A, B and C add up, and predictions are right: 100 bytes and 10 ms unchanged;
 * A saves 50 bytes for 2 ms, B saves 30 for 1 ms, C saves nothing and 3 ms. */
static table additive(int64_t room_bytes) {
    table made = {.room_bytes = room_bytes, .n_budget = 16};
    for (tide_plan_set set = 0; set < MOST_SETS; set++) {
        made.peak[set] = 100 - ((set & A) != 0 ? 50 : 0) - ((set & B) != 0 ? 30 : 0);
        made.gpu_ms[set] = 10.0 + ((set & A) != 0 ? 2.0 : 0.0) + ((set & B) != 0 ? 1.0 : 0.0) -
                           ((set & C) != 0 ? 3.0 : 0.0);
        made.lowest[set] = made.expected[set] = made.peak[set];
    }
    return made;
}

static tide_plan_problem problem_of(const table *of) {
    return (tide_plan_problem){.n_changes = 3,
                               .usable = A | B | C,
                               .group = {-1, -1, -1},
                               .gpu_ms = {2.0, 1.0, -3.0},
                               .base_ms = 10.0,
                               .room_bytes = of->room_bytes};
}

static tide_plan_found search(table *of, const tide_plan_problem *problem) {
    const tide_plan_caller caller = {of, may_run, recall, run, predict};
    tide_plan_found found;
    tide_error error = {""};
    assert_int_equal(tide_plan_search(problem, &caller, &found, &error), TIDE_OK);
    return found;
}

static void test_fastest_that_fits_is_found_by_one_run(void **state) {
    (void)state;
    table of = additive(75);
    know_singles(&of);
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_true(found.has_best);
    assert_int_equal(found.best, B | C);
    assert_int_equal(of.n_tried, 1);
    assert_true(found.is_whole);
}

static void test_unchanged_program_is_a_combination(void **state) {
    (void)state;
    table of = additive(100);
    know_singles(&of);
    tide_plan_problem problem = problem_of(&of);
    problem.usable = A | B; /* C would be faster */
    tide_plan_found found = search(&of, &problem);
    assert_true(found.has_best);
    assert_int_equal(found.best, 0);
    assert_int_equal(of.n_tried, 0);
}

static void test_group_excludes_its_others(void **state) {
    (void)state;
    table of = additive(25); /* needs A and B */
    know_singles(&of);
    tide_plan_problem problem = problem_of(&of);
    problem.group[0] = problem.group[1] = 0;
    tide_plan_found found = search(&of, &problem);
    assert_false(found.has_best);
    assert_int_equal(of.n_tried, 0);
    problem.group[1] = 1;
    found = search(&of, &problem);
    assert_int_equal(found.best, A | B | C);
}

/* B and C need more together than was expected, so A, B and C are expected to need more as well. */
static void test_a_run_corrects_what_is_expected_of_others(void **state) {
    (void)state;
    table of = additive(65);
    know_singles(&of);
    of.expected[B | C] = 55;
    of.expected[A | B | C] = 60;
    of.expected[A | C] = 64;
    of.lowest[B | C] = of.lowest[A | B | C] = of.lowest[A | C] = 10;
    of.peak[B | C] = 90;
    of.peak[A | B | C] = 95;
    of.gpu_ms[A | C] = 9.0;
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_int_equal(of.tried[0], B | C);
    assert_int_equal(of.n_tried, 2);
    assert_int_equal(found.best, A | C);
}

/* Checkpoints of two classes of modules are of one group, and only both together fit. */
static void test_changes_of_a_group_may_be_made_together(void **state) {
    (void)state;
    table of = additive(25); /* needs A and B */
    know_singles(&of);
    tide_plan_problem problem = problem_of(&of);
    problem.group[0] = problem.group[1] = problem.group[2] = 0;
    assert_false(tide_plan_set_is_allowed(&problem, A | B));
    problem.together[0] = B;
    problem.together[1] = A;
    assert_true(tide_plan_set_is_allowed(&problem, A | B));
    assert_false(tide_plan_set_is_allowed(&problem, A | B | C));
    tide_plan_found found = search(&of, &problem);
    assert_true(found.has_best);
    assert_int_equal(found.best, A | B);
    assert_int_equal(of.n_tried, 1);
}

/* Two changes together are slower than the sum says, and a slower pair is the best. */
static void test_times_that_do_not_add_up_are_learned(void **state) {
    (void)state;
    table of = additive(75);
    know_singles(&of);
    of.gpu_ms[B | C] = 14.0;
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_int_equal(of.tried[0], B | C);
    assert_int_equal(found.best, A | C);
}

/* B halves the time of all, also that of A. Only A and B, or C alone, fit. */
static void test_a_change_may_scale_what_others_add(void **state) {
    (void)state;
    table of = additive(25);
    know_singles(&of);
    of.peak[C] = of.expected[C] = of.lowest[C] = 20;
    of.lowest[A | C] = of.lowest[B | C] = of.lowest[A | B | C] = 90;
    of.expected[A | C] = of.expected[B | C] = of.expected[A | B | C] = 90;
    of.gpu_ms[A] = 20.0;
    of.gpu_ms[B] = 5.0;
    of.gpu_ms[C] = 11.9;
    of.gpu_ms[A | B] = 10.0;
    tide_plan_problem problem = problem_of(&of);
    problem.gpu_ms[0] = 10.0;
    problem.gpu_ms[1] = -5.0;
    problem.gpu_ms[2] = 1.9;
    tide_plan_found found = search(&of, &problem);
    assert_int_equal(found.best, C); /* the sum says 15 ms */
    problem.scales = B;
    found = search(&of, &problem);
    assert_int_equal(found.best, A | B);
}

/* A run without a forecast spoils no estimate of time. */
static void test_a_run_without_a_time_is_passed_over(void **state) {
    (void)state;
    table of = additive(75);
    know_singles(&of);
    of.gpu_ms[A] = (double)INFINITY;
    tide_plan_problem problem = problem_of(&of);
    problem.gpu_ms[0] = 0.0;
    tide_plan_found found = search(&of, &problem);
    assert_int_equal(found.best, B | C);
}

/* C raises the peak: without it, B fits although B and C do not. */
static void test_part_without_a_raising_change_is_found(void **state) {
    (void)state;
    table of = additive(75);
    of.was_run[0] = of.was_run[A] = of.was_run[C] = true;
    of.peak[A] = of.peak[B | C] = of.peak[A | C] = of.peak[A | B | C] = 90;
    of.expected[A] = of.expected[A | C] = of.expected[B | C] = of.expected[A | B | C] = 90;
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_int_equal(found.best, B);
}

static void test_without_times_the_first_that_fits_is_the_answer(void **state) {
    (void)state;
    table of = additive(70);
    of.was_run[0] = true;
    for (tide_plan_set set = 0; set < MOST_SETS; set++) {
        of.gpu_ms[set] = (double)INFINITY;
    }
    tide_plan_problem problem = problem_of(&of);
    problem.base_ms = -1.0;
    tide_plan_found found = search(&of, &problem);
    assert_true(found.has_best);
    assert_int_equal(of.n_tried, 1);
}

static void test_failed_program_excludes_nothing_else(void **state) {
    (void)state;
    table of = additive(75);
    know_singles(&of);
    of.fails[B | C] = true;
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_int_equal(found.best, A | C);
}

/* What is not expected to fit is run only while nothing fits. */
static void test_what_only_might_fit_comes_last(void **state) {
    (void)state;
    table of = additive(70);
    know_singles(&of);
    of.expected[B | C] = 90; /* it fits, against the expectation */
    of.lowest[B | C] = 60;
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_int_equal(of.n_tried, 1);
    assert_int_equal(found.best, A | C);
    table other = additive(70);
    other.was_run[0] = other.was_run[C] = true;
    for (tide_plan_set set = 1; set < MOST_SETS; set++) {
        other.expected[set] = 100;
    }
    other.peak[C] = 100;
    found = search(&other, &problem);
    assert_true(found.has_best);
}

static void test_bound_above_the_room_is_not_run(void **state) {
    (void)state;
    table of = additive(15);
    know_singles(&of);
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_false(found.has_best);
    assert_int_equal(of.n_tried, 0);
    assert_true(found.is_whole);
}

static void test_budget_makes_a_search_incomplete(void **state) {
    (void)state;
    table of = additive(70);
    of.was_run[0] = true;
    of.n_budget = 0;
    tide_plan_problem problem = problem_of(&of);
    tide_plan_found found = search(&of, &problem);
    assert_false(found.has_best);
    assert_false(found.is_whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fastest_that_fits_is_found_by_one_run),
        cmocka_unit_test(test_unchanged_program_is_a_combination),
        cmocka_unit_test(test_group_excludes_its_others),
        cmocka_unit_test(test_changes_of_a_group_may_be_made_together),
        cmocka_unit_test(test_a_run_corrects_what_is_expected_of_others),
        cmocka_unit_test(test_times_that_do_not_add_up_are_learned),
        cmocka_unit_test(test_a_change_may_scale_what_others_add),
        cmocka_unit_test(test_a_run_without_a_time_is_passed_over),
        cmocka_unit_test(test_part_without_a_raising_change_is_found),
        cmocka_unit_test(test_without_times_the_first_that_fits_is_the_answer),
        cmocka_unit_test(test_failed_program_excludes_nothing_else),
        cmocka_unit_test(test_what_only_might_fit_comes_last),
        cmocka_unit_test(test_bound_above_the_room_is_not_run),
        cmocka_unit_test(test_budget_makes_a_search_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
