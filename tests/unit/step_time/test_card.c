/* test_card.c - cards have rates with sources, or are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "step_time/card.h"

static tide_time_card rates;
static tide_error error;

static tide_status rates_of(const char *name) {
    return tide_time_card_of(tide_card_find(name), &rates, &error);
}

static void rates_are_those_of_the_data_sheet(void **state) {
    (void)state;
    assert_int_equal(rates_of("h100-80"), TIDE_OK);
    /* 2619 MHz, twice a cycle, 5120 bits: 3352.32 GB/s. */
    assert_float_equal(rates.bandwidth, 3352.32e9, 1e6);
    assert_float_equal(tide_time_card_flops(&rates, TIDE_RUN_BF16), 989.4e12, 1e9);
    assert_float_equal(tide_time_card_flops(&rates, TIDE_RUN_FP32), 66.9e12, 1e9);
    assert_false(rates.is_old);
    assert_int_equal(rates_of("a100-40"), TIDE_OK);
    assert_float_equal(rates.bandwidth, 1555.2e9, 1e6);
    assert_true(rates.is_old);
    assert_true(tide_time_card_flops(&rates, TIDE_RUN_FP64) < 0.0);
}

static void a_card_without_tf32_computes_in_fp32(void **state) {
    (void)state;
    assert_int_equal(rates_of("v100-16"), TIDE_OK);
    assert_float_equal(tide_time_card_flops(&rates, TIDE_RUN_TF32), 15.7e12, 1e9);
    assert_true(tide_time_card_flops(&rates, TIDE_RUN_BF16) < 0.0);
}

static void a_card_without_a_source_is_refused(void **state) {
    (void)state;
    static const char *const NAMES[] = {"a10", "h100-nvl", "rtx4060", "rtx5090"};
    static const char *const MISSING[] = {"rate of floating point", "rate of floating point",
                                          "bandwidth", "rate of floating point"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        assert_int_equal(rates_of(NAMES[i]), TIDE_INVALID);
        assert_non_null(strstr(error.message, NAMES[i]));
        assert_non_null(strstr(error.message, MISSING[i]));
    }
}

/* A card that counts as compared has a forecast; otherwise the list would name it in vain. */
static void compared_cards_have_rates(void **state) {
    (void)state;
    size_t n_cards = 0;
    size_t n_compared = 0;
    const tide_card *cards = tide_cards(&n_cards);
    for (size_t i = 0; i < n_cards; i++) {
        if (tide_time_card_of(&cards[i], &rates, &error) == TIDE_OK) {
            n_compared += rates.is_compared;
        }
    }
    assert_int_equal(n_compared, TIDE_TIME_N_COMPARED);
    assert_int_equal(rates_of("a100-80-pcie"), TIDE_OK);
    /* 1512 MHz, twice a cycle, 5120 bits: 1935.36 GB/s. */
    assert_float_equal(rates.bandwidth, 1935.36e9, 1e6);
    assert_float_equal(tide_time_card_flops(&rates, TIDE_RUN_TF32), 156e12, 1e9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_those_of_the_data_sheet),
        cmocka_unit_test(a_card_without_tf32_computes_in_fp32),
        cmocka_unit_test(a_card_without_a_source_is_refused),
        cmocka_unit_test(compared_cards_have_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
