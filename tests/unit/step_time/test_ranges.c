/* test_ranges.c - steps and phases by the marks of a log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/step_time/ranges.h"
#include "support/made_launches.h"

static made_launches made;
static tide_time_log read_log;
static tide_time_ranges ranges;

/* Marks, and a kernel after each. */
static void make(const char *const *marks) {
    made_launches_begin(&made, "h100-80");
    for (size_t i = 0; marks[i] != NULL; i++) {
        made_launches_mark(&made, marks[i]);
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 1);
    }
    assert_int_equal(made_launches_read(&made, &read_log, NULL), TIDE_OK);
    assert_int_equal(tide_time_ranges_init(&read_log, &ranges), TIDE_OK);
}

/* "k": a kernel; "c": one that is captured into graph 7; "g": a launch of that graph; "p": a
 * further part of it; "o": a launch of another graph; all others are marks. Entry i is row i. */
static void make_rows(const char *const *entries) {
    made_launches_begin(&made, "h100-80");
    for (size_t i = 0; entries[i] != NULL; i++) {
        char kind = entries[i][1] == '\0' ? entries[i][0] : '\0';
        tide_run_launch row = made_kernel(TIDE_RUN_VECTORISED, 8);
        row.graph = kind == 'k' ? 0 : kind == 'o' ? 8 : 7;
        row.flags = kind == 'c' ? TIDE_RUN_CAPTURED : kind == 'p' ? TIDE_RUN_CONTINUES : 0;
        row.kind = strchr("gpo", kind) != NULL ? TIDE_RUN_GRAPH_LAUNCH : TIDE_RUN_KERNEL;
        if (kind == '\0') {
            made_launches_mark(&made, entries[i]);
        } else {
            made_launches_add(&made, row, 1);
        }
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

/* The first step begins with the first call of a module, which is within the optimizer's. */
static void an_optimizer_that_calls_its_closure_is_not_a_forward_pass(void **state) {
    (void)state;
    static const char *const MARKS[] = {
        "optimizer begins", "step begins",      "backward begins", "backward ends", "step ends",
        "step begins",      "optimizer begins", "backward begins", "backward ends", "step ends",
        "step begins",      "backward begins",  "backward ends",   "step ends",     NULL};
    make(MARKS);
    assert_int_equal(ranges.n_steps, 3);
    expect_phase(0, TIDE_TIME_FORWARD, 2, 4, 0);
    expect_phase(1, TIDE_TIME_BACKWARD, 4, 6, 0);
    expect_phase(2, TIDE_TIME_OPTIMIZER, 6, 8, 0);
    expect_phase(3, TIDE_TIME_FORWARD, 10, 12, 1);
    expect_phase(4, TIDE_TIME_FORWARD, 12, 14, 1);
    expect_phase(5, TIDE_TIME_BACKWARD, 14, 16, 1);
    expect_phase(6, TIDE_TIME_OPTIMIZER, 16, 18, 1);
    expect_phase(9, TIDE_TIME_FORWARD, 24, 26, 2);
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

static void expect_step(size_t i, size_t first, size_t last) {
    assert_true(i < ranges.n_steps);
    assert_int_equal(ranges.steps[i].first, first);
    assert_int_equal(ranges.steps[i].last, last);
}

/* Row 19 is the kernel of an evaluation. */
static void the_last_step_ends_with_its_last_phase(void **state) {
    (void)state;
    static const char *const MARKS[] = {"own step",         "backward begins", "backward ends",
                                        "optimizer begins", "optimizer ends",  "own step",
                                        "backward begins",  "backward ends",   "optimizer begins",
                                        "optimizer ends",   "program ends",    NULL};
    make(MARKS);
    assert_int_equal(ranges.n_steps, 2);
    expect_step(0, 0, 10);
    expect_step(1, 10, 18);
    assert_int_equal(ranges.phases[ranges.n_phases - 1].phase, TIDE_TIME_OPTIMIZER);
    assert_int_equal(ranges.phases[ranges.n_phases - 1].last, 18);
}

/* The program marks the ends of its steps: nothing after the last mark is a step. */
static void what_follows_the_last_step_is_none(void **state) {
    (void)state;
    static const char *const TRAINING[] = {"own step", "backward begins", "backward ends",
                                           "own step", "program ends",    NULL};
    make(TRAINING);
    assert_int_equal(ranges.n_steps, 1);
    expect_step(0, 0, 6);
    assert_int_equal(ranges.n_phases, 3);
    (void)end(NULL);
    static const char *const CALLS[] = {"step begins", "call begins",  "call begins",
                                        "call begins", "program ends", NULL};
    make(CALLS);
    assert_int_equal(ranges.n_steps, 2);
    expect_step(1, 4, 6);
}

/* The last replay is left out, because its end is unknown. */
static void replays_of_a_captured_step_are_steps(void **state) {
    (void)state;
    static const char *const ROWS[] = {
        "step begins", "k", "step ends", "step begins", "c", "step ends", "k", "g", "p",
        "o",           "k", "g",         "p",           "k", "g",         "p", "k", NULL};
    make_rows(ROWS);
    assert_int_equal(ranges.n_before, 2);
    assert_int_equal(ranges.n_steps, 4);
    expect_step(1, 3, 5);
    expect_step(2, 7, 11);
    expect_step(3, 11, 14);
    assert_int_equal(ranges.n_phases, 2); /* those of the steps before */
}

static void one_replay_lasts_as_long_as_its_launch(void **state) {
    (void)state;
    static const char *const ROWS[] = {"step begins", "c", "step ends", "k", "g", "p", "k", NULL};
    make_rows(ROWS);
    assert_int_equal(ranges.n_before, 1);
    assert_int_equal(ranges.n_steps, 2);
    expect_step(1, 4, 6);
}

static void a_replayed_call_is_a_step(void **state) {
    (void)state;
    static const char *const ROWS[] = {"call begins", "k", "call begins",  "c", "g", "k", "g",
                                       "k",           "g", "program ends", NULL};
    make_rows(ROWS);
    assert_int_equal(ranges.n_before, 2);
    assert_int_equal(ranges.n_steps, 4);
    expect_step(1, 2, 4);
    expect_step(2, 4, 6);
    expect_step(3, 6, 8);
}

/* Only the passes are captured, and the optimizer's steps continue; or the program reports its
 * steps. */
static void replays_within_steps_are_none(void **state) {
    (void)state;
    static const char *const ROWS[][12] = {
        {"step begins", "c", "g", "step ends", "step begins", "g", "step ends", "g", NULL},
        {"own step", "k", "own step", "c", "g", "k", "g", "program ends", NULL},
        {"step begins", "k", "step ends", "c", "g", "g", NULL}};
    static const size_t N_STEPS[] = {2, 1, 1};
    for (size_t i = 0; i < 3; i++) {
        make_rows(ROWS[i]);
        assert_int_equal(ranges.n_before, 0);
        assert_int_equal(ranges.n_steps, N_STEPS[i]);
        if (i < 2) {
            (void)end(state);
        }
    }
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
        cmocka_unit_test_teardown(an_optimizer_that_calls_its_closure_is_not_a_forward_pass, end),
        cmocka_unit_test_teardown(the_programs_own_steps_come_first, end),
        cmocka_unit_test_teardown(calls_are_steps_where_nothing_is_optimised, end),
        cmocka_unit_test_teardown(replays_of_a_captured_step_are_steps, end),
        cmocka_unit_test_teardown(one_replay_lasts_as_long_as_its_launch, end),
        cmocka_unit_test_teardown(a_replayed_call_is_a_step, end),
        cmocka_unit_test_teardown(replays_within_steps_are_none, end),
        cmocka_unit_test_teardown(the_last_step_ends_with_its_last_phase, end),
        cmocka_unit_test_teardown(what_follows_the_last_step_is_none, end),
        cmocka_unit_test_teardown(a_log_without_steps_is_one, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
