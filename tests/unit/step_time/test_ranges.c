/* test_ranges.c - steps and phases by the marks of a log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "step_time/ranges.h"
#include "support/made_launches.h"

static made_launches made;
static tide_time_log read_log;
static tide_time_ranges ranges;

/* Marks, and a kernel behind each. */
static void make(const char *const *marks) {
    made_launches_begin(&made, "h100-80");
    for (size_t i = 0; marks[i] != NULL; i++) {
        made_launches_mark(&made, marks[i]);
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
    }
    assert_int_equal(made_launches_read(&made, &read_log, NULL), TIDE_OK);
    assert_int_equal(tide_time_ranges_init(&read_log, &ranges), TIDE_OK);
}

static int end(void **state) {
    (void)state;
    tide_time_ranges_fini(&ranges);
    tide_time_log_fini(&read_log);
    return 0;
}

static void expect_phase(size_t i, tide_time_phase phase, size_t first, size_t last, size_t step) {
    assert_true(i < ranges.n_phases);
    assert_int_equal(ranges.phases[i].phase, phase);
    assert_int_equal(ranges.phases[i].first, first);
    assert_int_equal(ranges.phases[i].last, last);
    assert_int_equal(ranges.phases[i].step, step);
}

static void steps_end_with_the_optimizer(void **state) {
    (void)state;
    /* Each mark is followed by one kernel, so that mark i is row 2 i. */
    static const char *const MARKS[] = {"step begins",      "call begins",
                                        "backward begins",  "backward ends",
                                        "optimizer begins", "step ends",
                                        "step begins",      "backward begins",
                                        "backward ends",    "optimizer begins",
                                        "step ends",        "step begins",
                                        "backward begins",  NULL};
    make(MARKS);
    assert_false(ranges.is_whole);
    assert_int_equal(ranges.n_steps, 2);
    assert_int_equal(ranges.steps[0].first, 0);
    assert_int_equal(ranges.steps[0].last, 10);
    assert_int_equal(ranges.steps[1].first, 12);
    assert_int_equal(ranges.steps[1].last, 20);
    assert_int_equal(ranges.n_phases, 8);
    expect_phase(0, TIDE_TIME_FORWARD, 0, 4, 0);
    expect_phase(1, TIDE_TIME_BACKWARD, 4, 6, 0);
    expect_phase(2, TIDE_TIME_BETWEEN, 6, 8, 0);
    expect_phase(3, TIDE_TIME_OPTIMIZER, 8, 10, 0);
    expect_phase(4, TIDE_TIME_FORWARD, 12, 14, 1);
}

static void micro_batches_are_phases_of_one_step(void **state) {
    (void)state;
    static const char *const MARKS[] = {
        "step begins",   "backward begins",  "backward ends", "backward begins",
        "backward ends", "optimizer begins", "step ends",     NULL};
    make(MARKS);
    assert_int_equal(ranges.n_steps, 1);
    assert_int_equal(ranges.n_phases, 6);
    expect_phase(2, TIDE_TIME_FORWARD, 4, 6, 0);
    expect_phase(3, TIDE_TIME_BACKWARD, 6, 8, 0);
    expect_phase(4, TIDE_TIME_BETWEEN, 8, 10, 0);
}

static void the_programs_own_steps_come_first(void **state) {
    (void)state;
    static const char *const MARKS[] = {"step begins", "step ends", "own step", "step begins",
                                        "step ends",   "own step",  "own step", NULL};
    make(MARKS);
    assert_int_equal(ranges.n_steps, 2);
    assert_int_equal(ranges.steps[0].first, 4);
    assert_int_equal(ranges.steps[0].last, 10);
}

static void calls_are_steps_where_nothing_is_optimised(void **state) {
    (void)state;
    static const char *const MARKS[] = {"step begins", "call begins", "call begins", "program ends",
                                        NULL};
    make(MARKS);
    assert_int_equal(ranges.n_steps, 2);
    assert_int_equal(ranges.steps[1].first, 4);
    assert_int_equal(ranges.steps[1].last, 6);
}

static void a_log_without_steps_is_one(void **state) {
    (void)state;
    static const char *const MARKS[] = {"backward begins", "backward ends", NULL};
    make(MARKS);
    assert_true(ranges.is_whole);
    assert_int_equal(ranges.n_steps, 1);
    assert_int_equal(ranges.steps[0].last, 4);
    assert_int_equal(ranges.n_phases, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(steps_end_with_the_optimizer, end),
        cmocka_unit_test_teardown(micro_batches_are_phases_of_one_step, end),
        cmocka_unit_test_teardown(the_programs_own_steps_come_first, end),
        cmocka_unit_test_teardown(calls_are_steps_where_nothing_is_optimised, end),
        cmocka_unit_test_teardown(a_log_without_steps_is_one, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
