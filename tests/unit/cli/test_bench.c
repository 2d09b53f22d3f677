/* test_bench.c - rounds of samples, their figures, and the verdict on targets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench.h"

/* Samples that are known beforehand, and the order in which they were asked for. */
typedef struct script {
    const double *samples; /* the first one warms up */
    size_t n_done;
    char *order; /* shared by all scripts: one letter each */
    char letter;
    size_t fail_at; /* the sample that fails; 0: none */
} script;

static tide_status play(void *ctx, double *ret_ns, tide_error *error) {
    script *at = ctx;
    size_t n = strlen(at->order);
    at->order[n] = at->letter;
    at->order[n + 1] = '\0';
    *ret_ns = at->samples[at->n_done++];
    return at->fail_at == at->n_done ? tide_fail(error, TIDE_DEVICE_FAILED, "no more") : TIDE_OK;
}

static const double SLOW[] = {900.0, 20.0, 60.0, 30.0};
static const double FAST[] = {900.0, 10.0, 20.0, 30.0};

static void ratios_are_taken_within_a_round(void **state) {
    (void)state;
    char order[32] = "";
    script slow = {SLOW, 0, order, 's', 0};
    script fast = {FAST, 0, order, 'f', 0};
    tide_bench_group group = {.name = "work",
                              .variants = {{.name = "fast", .sample = play, .ctx = &fast},
                                           {.name = "slow", .sample = play, .ctx = &slow}},
                              .n_variants = 2};
    assert_int_equal(tide_bench_measure(&group, 3, NULL), TIDE_OK);
    assert_string_equal(order, "fsfssffs");
    assert_int_equal(group.n_rounds, 3);
    assert_true(tide_bench_min(&group, 1) == 20.0);
    assert_true(tide_bench_median(&group, 1) == 30.0);
    assert_true(tide_bench_added(&group, 1, 0) == 10.0);
    assert_true(tide_bench_ratio(&group, 1, 0) == 2.0); /* of 2, 3 and 1 */
}

static void a_failed_sample_ends_the_benchmark(void **state) {
    (void)state;
    char order[32] = "";
    script slow = {SLOW, 0, order, 's', 3};
    tide_bench_group group = {.name = "work",
                              .variants = {{.name = "slow", .sample = play, .ctx = &slow}},
                              .n_variants = 1};
    tide_error error = {""};
    assert_int_equal(tide_bench_measure(&group, 3, &error), TIDE_DEVICE_FAILED);
    assert_string_equal(error.message, "no more");
    assert_int_equal(group.n_rounds, 1);
}

/* Whether one target of 10 that came out at `measured` counts as missed. */
static bool is_missed(double measured) {
    tide_report report;
    tide_report_init(&report, "test");
    tide_bench_run run = {.report = &report};
    tide_bench_add_target(&run, "always", "ns", 10.0, 1.0);
    tide_bench_add_target(&run, "a pair", "ns", 10.0, measured);
    bool missed = tide_bench_report_targets(&run);
    tide_report_fini(&report);
    return missed;
}

static void a_target_is_a_bound(void **state) {
    (void)state;
    assert_false(is_missed(9.9));
    assert_false(is_missed(10.0));
    assert_true(is_missed(10.1));
    assert_true(is_missed(-1.0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_taken_within_a_round),
        cmocka_unit_test(a_failed_sample_ends_the_benchmark),
        cmocka_unit_test(a_target_is_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
