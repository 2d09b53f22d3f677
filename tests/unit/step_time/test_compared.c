/* test_compared.c - which rows have comparisons with published times, and that their figures make
 * sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/step_time/compared.h"
#include "support/made_launches.h"

static void assert_is_sensible(const tide_time_comparison *of) {
    assert_true(of->n_comparisons > 0 && of->n_cards > 0 && of->family[0] != '\0');
    assert_true(of->median_percent > 0.0 && of->median_percent < 100.0);
    assert_true(of->least > 0.0 && of->least <= 1.0 && of->most >= 1.0 && of->least < of->most);
}

static void compared_families_have_an_interval(void **state) {
    (void)state;
    static const double SIZES_US[] = {5.0, 5000.0};
    unsigned n = 0;
    for (unsigned family = 0; family < TIDE_RUN_N_FAMILIES; family++) {
        tide_run_launch row = made_kernel((tide_run_family)family, 1 << 20);
        for (size_t i = 0; i < 2; i++) {
            const tide_time_comparison *of = tide_time_comparison_of(&row, SIZES_US[i]);
            n += of != NULL;
            if (of != NULL) {
                assert_is_sensible(of);
            }
        }
    }
    assert_true(n >= 10);
    assert_is_sensible(&TIDE_TIME_NEVER_COMPARED);
}

static void never_compared_kernels_have_a_wider_interval(void **state) {
    (void)state;
    tide_run_launch compared = made_kernel(TIDE_RUN_SOFTMAX, 1 << 20);
    const tide_time_comparison *of = tide_time_comparison_of(&compared, 5000.0);
    assert_non_null(of);
    assert_true(of->most / of->least <
                TIDE_TIME_NEVER_COMPARED.most / TIDE_TIME_NEVER_COMPARED.least);
    tide_run_launch unknown = made_kernel(TIDE_RUN_OTHER, 1 << 20);
    tide_run_launch fourier = made_kernel(TIDE_RUN_FOURIER, 1 << 20);
    assert_null(tide_time_comparison_of(&unknown, 5000.0));
    assert_null(tide_time_comparison_of(&fourier, 5000.0));
}

/* The sizes of gathers and scatters depend on values, and are compared as estimates. */
static void only_estimates_by_values_are_compared(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_SCATTER_ROWS, 1 << 20);
    row.flags = TIDE_RUN_ESTIMATED;
    assert_non_null(tide_time_comparison_of(&row, 500.0));
    row = made_kernel(TIDE_RUN_VECTORISED, 1 << 20);
    row.flags = TIDE_RUN_ESTIMATED;
    assert_null(tide_time_comparison_of(&row, 500.0));
}

static void small_and_large_kernels_have_their_own(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_VECTORISED, 1 << 20);
    assert_ptr_not_equal(tide_time_comparison_of(&row, 99.0), tide_time_comparison_of(&row, 100.0));
    row = made_product(TIDE_RUN_BF16, 64, 64, 64); /* tiles and waves are modelled */
    assert_ptr_equal(tide_time_comparison_of(&row, 99.0), tide_time_comparison_of(&row, 100.0));
}

static void a_guess_is_never_compared(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_VECTORISED, 1 << 20);
    assert_non_null(tide_time_comparison_of(&row, 50.0));
    row.flags = TIDE_RUN_GUESSED;
    assert_null(tide_time_comparison_of(&row, 50.0));
    row = made_product(TIDE_RUN_BF16, 64, 64, 64);
    assert_non_null(tide_time_comparison_of(&row, 50.0));
    row.flags |= TIDE_RUN_GUESSED;
    assert_null(tide_time_comparison_of(&row, 50.0));
}

static void a_row_without_time_has_no_comparison(void **state) {
    (void)state;
    tide_run_launch wait = {.kind = TIDE_RUN_WAIT_STREAM};
    tide_run_launch copy = {.kind = TIDE_RUN_COPY, .family = TIDE_RUN_COPY_TO_CARD, .bytes = 4096};
    tide_run_launch kernel = made_kernel(TIDE_RUN_VECTORISED, 1 << 20);
    assert_null(tide_time_comparison_of(&wait, 1.0));
    assert_null(tide_time_comparison_of(&kernel, 0.0));
    assert_null(tide_time_comparison_of(&copy, 5.0)); /* over the link to the host */
    copy.family = TIDE_RUN_COPY_ON_CARD;
    assert_non_null(tide_time_comparison_of(&copy, 5.0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compared_families_have_an_interval),
        cmocka_unit_test(never_compared_kernels_have_a_wider_interval),
        cmocka_unit_test(only_estimates_by_values_are_compared),
        cmocka_unit_test(small_and_large_kernels_have_their_own),
        cmocka_unit_test(a_guess_is_never_compared),
        cmocka_unit_test(a_row_without_time_has_no_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
