/* test_needs.c - the search for the smallest limit under which recorded requests are served:
 * it never tries a limit that is known to be too small, and finds the first multiple of its step
 * that is enough. Runs are replaced by functions of the limit here, so that each outcome is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/needs_internal.h"

#define MIB (UINT64_C(1) << 20)

/* The entries' runs: each is served from `enough_bytes` on, and has `peak_bytes` without a limit.
 */
typedef struct outcomes {
    uint64_t in_use_bytes; /* the limit under which every entry ran out of memory */
    uint64_t enough_bytes[2];
    int64_t peak_bytes[2];
    uint64_t least_tried_bytes; /* of all runs of a search */
    size_t n_runs;
} outcomes;

static outcomes now;

static tide_status run(void *ctx, size_t entry, uint64_t limit_bytes, bool *ret_survives,
                       int64_t *ret_peak_bytes, tide_error *error) {
    outcomes *of = ctx;
    (void)error;
    of->n_runs++;
    of->least_tried_bytes =
        limit_bytes < of->least_tried_bytes ? limit_bytes : of->least_tried_bytes;
    *ret_survives = limit_bytes >= of->enough_bytes[entry];
    *ret_peak_bytes = of->peak_bytes[entry];
    return TIDE_OK;
}

static tide_replay_need find_need(size_t n_entries) {
    const tide_replay_trials trials = {
        .ctx = &now, .n_entries = n_entries, .in_use_bytes = now.in_use_bytes, .run = run};
    tide_replay_need need;
    now.least_tried_bytes = UINT64_MAX;
    now.n_runs = 0;
    assert_int_equal(tide_replay_find_need(&trials, NULL, &need, NULL), TIDE_OK);
    return need;
}

static void the_smallest_limit_is_found(void **state) {
    (void)state;
    for (uint64_t enough = 102; enough <= 200; enough += 2) {
        now = (outcomes){.in_use_bytes = 100 * MIB + 1,
                         .enough_bytes = {enough * MIB},
                         .peak_bytes = {(int64_t)(200 * MIB)}};
        assert_true(find_need(1).limit_bytes == enough * MIB);
        assert_true(now.least_tried_bytes > 100 * MIB); /* that one already ran out of memory */
        assert_true(now.n_runs <= 8);                   /* 50 steps are halved 6 times */
    }
}

/* A limit between two steps counts as the lower one, so the step above it is still tried. */
static void the_step_above_the_limit_in_use_counts(void **state) {
    (void)state;
    now = (outcomes){.in_use_bytes = 102 * MIB - 1,
                     .enough_bytes = {102 * MIB},
                     .peak_bytes = {(int64_t)(150 * MIB)}};
    assert_true(find_need(1).limit_bytes == 102 * MIB);
}

/* The run used more memory than without a limit, so its peak is not an upper bound. */
static void a_peak_below_the_limit_in_use_is_no_bound(void **state) {
    (void)state;
    for (uint64_t peak = 60; peak <= 100; peak += 20) {
        now = (outcomes){.in_use_bytes = 100 * MIB,
                         .enough_bytes = {102 * MIB},
                         .peak_bytes = {(int64_t)(peak * MIB)}};
        assert_true(find_need(1).limit_bytes == 102 * MIB);
    }
}

/* With a limit the run needs up to three times its peak without one. */
static void a_peak_that_is_not_enough_is_no_answer(void **state) {
    (void)state;
    for (uint64_t enough = 130; enough <= 360; enough += 46) {
        now = (outcomes){.in_use_bytes = 100 * MIB,
                         .enough_bytes = {enough * MIB},
                         .peak_bytes = {(int64_t)(120 * MIB)}};
        assert_true(find_need(1).limit_bytes == enough * MIB);
    }
}

/* Only a limit below the best one so far helps, and the first setting needs less. */
static void a_later_setting_that_needs_more_changes_nothing(void **state) {
    (void)state;
    now = (outcomes){.in_use_bytes = 100 * MIB,
                     .enough_bytes = {130 * MIB, 132 * MIB},
                     .peak_bytes = {(int64_t)(120 * MIB), (int64_t)(110 * MIB)}};
    tide_replay_need need = find_need(2);
    assert_true(need.limit_bytes == 130 * MIB);
    assert_int_equal(need.entry, 0);
}

static void the_best_of_several_settings_counts(void **state) {
    (void)state;
    now = (outcomes){.in_use_bytes = 100 * MIB,
                     .enough_bytes = {180 * MIB, 130 * MIB},
                     .peak_bytes = {(int64_t)(200 * MIB), (int64_t)(300 * MIB)}};
    tide_replay_need need = find_need(2);
    assert_true(need.limit_bytes == 130 * MIB && need.base_limit_bytes == 180 * MIB);
    assert_int_equal(need.entry, 1);
    now.enough_bytes[1] = 180 * MIB; /* no better than the recorded settings */
    need = find_need(2);
    assert_true(need.limit_bytes == 180 * MIB);
    assert_int_equal(need.entry, 0);
}

static void no_limit_helps_on_a_device_that_is_too_small(void **state) {
    (void)state;
    now = (outcomes){.in_use_bytes = 100 * MIB, .enough_bytes = {TIDE_REPLAY_NO_LIMIT + 1}};
    assert_true(find_need(1).limit_bytes == UINT64_MAX);
    assert_int_equal(now.n_runs, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_limit_is_found),
        cmocka_unit_test(the_step_above_the_limit_in_use_counts),
        cmocka_unit_test(a_peak_below_the_limit_in_use_is_no_bound),
        cmocka_unit_test(a_peak_that_is_not_enough_is_no_answer),
        cmocka_unit_test(a_later_setting_that_needs_more_changes_nothing),
        cmocka_unit_test(the_best_of_several_settings_counts),
        cmocka_unit_test(no_limit_helps_on_a_device_that_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
