/* test_kernel_table.c - the intervals of comparisons, for errors made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "step_time/kernel_table.h"

static kernel_cases *cases;
static kernel_results *results;
static tide_time_comparison table[TIDE_TIME_N_SLOTS];

static const size_t SOFTMAX = TIDE_TIME_SLOT(TIDE_RUN_SOFTMAX, TIDE_TIME_LARGE);
static const size_t NORM = TIDE_TIME_SLOT(TIDE_RUN_NORM, TIDE_TIME_LARGE);
static const size_t COPIES = TIDE_TIME_SLOT(TIDE_TIME_COPIES, TIDE_TIME_LARGE);

static int begin(void **state) {
    (void)state;
    cases = calloc(1, sizeof(*cases));
    results = calloc(1, sizeof(*results));
    if (cases == NULL || results == NULL) {
        return 1;
    }
    results->cases = cases;
    return 0;
}

static int end(void **state) {
    (void)state;
    free(cases);
    free(results);
    return 0;
}

/* A forecast of 1000 us, of which a share is of another slot, and the published time. */
static void add(size_t slot, double published_us, size_t other, double share) {
    size_t i = cases->n++;
    cases->cases[i] = (kernel_case){.published_us = published_us, .weight = 1.0, .is_bench = true};
    (void)strcpy(cases->cases[i].card_name, i % 2 == 0 ? "one" : "two");
    results->of[i] = (kernel_forecast){.us = 1000.0};
    results->of[i].us_of[slot] += 1000.0 * (1.0 - share);
    results->of[i].us_of[other] += 1000.0 * share;
    results->group[i] = i % 2;
}

static void is_near(double found, double expected) {
    assert_true(fabs(found - expected) < 1e-6);
}

/* Of 19 values, 80 of 100 further ones are between the second and the eighteenth. */
static void many_values_have_an_interval_of_places(void **state) {
    (void)state;
    for (size_t i = 0; i < 19; i++) {
        add(SOFTMAX, 910.0 + 10.0 * (double)i, NORM, 0.0);
    }
    kernel_table_make(results, KERNEL_NO_GROUP, table);
    assert_int_equal(table[SOFTMAX].n_comparisons, 19);
    assert_int_equal(table[SOFTMAX].n_cards, 2);
    is_near(table[SOFTMAX].least, 0.92);
    is_near(table[SOFTMAX].most, 1.08);
    assert_string_equal(table[SOFTMAX].family, "softmax");
    assert_int_equal(table[NORM].n_comparisons, 0);
    assert_null(table[NORM].family);
    kernel_table_make(results, 1, table); /* without every second */
    assert_int_equal(table[SOFTMAX].n_comparisons, 10);
    assert_int_equal(table[SOFTMAX].n_cards, 1);
}

static void the_forecast_is_inside_its_interval(void **state) {
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        add(SOFTMAX, 2000.0 + 100.0 * (double)i, NORM, 0.0);
    }
    kernel_table_make(results, KERNEL_NO_GROUP, table);
    is_near(table[SOFTMAX].least, 1.0);
    is_near(table[SOFTMAX].most, 2.8);
}

/* Two norms are nearly right, but kernels of that size are off by more: the interval is theirs. */
static void few_values_have_the_usual_spread(void **state) {
    (void)state;
    for (size_t i = 0; i < 21; i++) {
        add(SOFTMAX, 1000.0 * exp(-0.5 + 0.05 * (double)i), NORM, 0.0);
    }
    add(NORM, 999.0, SOFTMAX, 0.0);
    add(NORM, 1001.0, SOFTMAX, 0.0);
    kernel_table_make(results, KERNEL_NO_GROUP, table);
    assert_int_equal(table[NORM].n_comparisons, 2);
    double half = 0.4 * sqrt(1.5); /* the tenth of all is at about -0.4 */
    assert_true(fabs(log(table[NORM].most) - half) < 0.05);
    assert_true(fabs(log(table[NORM].least) + half) < 0.05);
}

/* A softmax has 30 % of a norm's function: its error is at most that of the whole over 0.3. */
static void shares_ascribe_the_whole_error(void **state) {
    (void)state;
    add(NORM, 1100.0, SOFTMAX, 0.3);
    add(NORM, 1100.0, SOFTMAX, 0.2); /* too little */
    kernel_table_make(results, KERNEL_NO_GROUP, table);
    assert_int_equal(table[SOFTMAX].n_comparisons, 1);
    is_near(table[SOFTMAX].median_percent, 100.0 * (1.0 - pow(1.1, -1.0 / 0.3)));
}

static void families_that_only_share_have_the_spread_of_all(void **state) {
    (void)state;
    for (size_t i = 0; i < 21; i++) {
        add(NORM, 1000.0 * exp(-0.5 + 0.05 * (double)i), COPIES, 0.15);
    }
    kernel_table_make(results, KERNEL_NO_GROUP, table);
    assert_int_equal(table[COPIES].n_comparisons, 21);
    is_near(log(table[COPIES].most), 0.4 * sqrt(2.0));
    is_near(log(table[COPIES].least), -0.4 * sqrt(2.0));
    assert_true(table[COPIES].most > table[NORM].most);
}

static void times_that_a_host_may_bound_do_not_count(void **state) {
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        add(SOFTMAX, 1000.0, NORM, 0.0);
    }
    results->of[0].may_be_host = true;
    cases->cases[1].weight = 0.0;
    kernel_table_make(results, KERNEL_NO_GROUP, table);
    assert_int_equal(table[SOFTMAX].n_comparisons, 8);
}

/* 700 us of one family, 200 of one that was never compared, and 100 of events. */
static void an_answers_interval_adds_those_of_its_kernels(void **state) {
    (void)state;
    kernel_forecast of = {.us = 1000.0};
    tide_time_comparison never = {.least = 0.5, .most = 2.0};
    double least = 0.0;
    double most = 0.0;
    memset(table, 0, sizeof(table));
    table[SOFTMAX] = (tide_time_comparison){"softmax", 20, 1, 5.0, 0.9, 1.2};
    of.us_of[SOFTMAX] = 700.0;
    of.us_of[NORM] = 200.0;
    kernel_interval(&of, table, &never, &least, &most);
    is_near(least, 700.0 * 0.9 + 100.0 + 100.0);
    is_near(most, 700.0 * 1.2 + 400.0 + 100.0);
}

static void a_table_beside_the_programs(void **state) {
    (void)state;
    static tide_time_comparison other[TIDE_TIME_N_SLOTS];
    (void)memcpy(other, TIDE_TIME_COMPARISONS, sizeof(other));
    tide_time_comparison never = TIDE_TIME_NEVER_COMPARED;
    assert_true(kernel_table_agrees(other, &never));
    other[NORM].most += 0.004; /* which rounding hides */
    assert_true(kernel_table_agrees(other, &never));
    other[NORM].most += 0.02;
    assert_false(kernel_table_agrees(other, &never));
    other[NORM] = TIDE_TIME_COMPARISONS[NORM];
    other[COPIES].n_comparisons++;
    assert_false(kernel_table_agrees(other, &never));
    other[COPIES] = TIDE_TIME_COMPARISONS[COPIES];
    other[SOFTMAX].median_percent += 0.2;
    assert_false(kernel_table_agrees(other, &never));
    other[SOFTMAX] = TIDE_TIME_COMPARISONS[SOFTMAX];
    never.least -= 0.02;
    assert_false(kernel_table_agrees(other, &never));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_values_have_an_interval_of_places, begin, end),
        cmocka_unit_test_setup_teardown(the_forecast_is_inside_its_interval, begin, end),
        cmocka_unit_test_setup_teardown(few_values_have_the_usual_spread, begin, end),
        cmocka_unit_test_setup_teardown(shares_ascribe_the_whole_error, begin, end),
        cmocka_unit_test_setup_teardown(families_that_only_share_have_the_spread_of_all, begin,
                                        end),
        cmocka_unit_test_setup_teardown(times_that_a_host_may_bound_do_not_count, begin, end),
        cmocka_unit_test_setup_teardown(an_answers_interval_adds_those_of_its_kernels, begin, end),
        cmocka_unit_test(a_table_beside_the_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
