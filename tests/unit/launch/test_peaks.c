/* test_peaks.c - when growth from step to step is worth a word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launch/peaks.h"

enum { MAX_STEPS = 6 };

#define MIB (INT64_C(1) << 20)

static void growth_is_told_by_rule(void **state) {
    (void)state;
    static const struct {
        size_t n_steps;
        int64_t peaks[MAX_STEPS];
        int64_t growth;
    } CASES[] = {
        {0, {0}, 0},
        {1, {100}, 0},
        {2, {10 * MIB, 30 * MIB}, 0},                          /* optimizer state */
        {3, {10 * MIB, 30 * MIB, 30 * MIB}, 0},                /* and then it repeats */
        {3, {10 * MIB, 30 * MIB, 36 * MIB}, 6 * MIB},          /* it grows on */
        {3, {10 * MIB, 30 * MIB, 32 * MIB}, 2 * MIB},          /* by a segment */
        {3, {10 * MIB, 30 * MIB, 32 * MIB - 512}, 0},          /* by less, once */
        {4, {1, 30 * MIB, 30 * MIB, 30 * MIB + 512}, 0},       /* once, later */
        {4, {1, 3 * MIB, 3 * MIB + 512, 3 * MIB + 1024}, 512}, /* by little, again and again */
        {4, {1, 30 * MIB, 34 * MIB, 40 * MIB}, 5 * MIB},       /* the mean of the two */
        {4, {90 * MIB, 30 * MIB, 34 * MIB, 40 * MIB}, 0},      /* no more than the first took */
        {4, {1, 50 * MIB, 30 * MIB, 40 * MIB}, 0},             /* lengths that go up and down */
        {5, {1, 50 * MIB, 30 * MIB, 40 * MIB, 50 * MIB}, 0},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_left_growth_of(CASES[i].peaks, CASES[i].n_steps), CASES[i].growth);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(growth_is_told_by_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
