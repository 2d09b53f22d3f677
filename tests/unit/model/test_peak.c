/* test_peak.c - the stated peak rates of cards, and the share of such a peak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/peak.h"

static void cards_are_found_by_the_drivers_name(void **state) {
    (void)state;
    assert_float_equal(tide_stated_peak_flops("NVIDIA H100 80GB HBM3", TIDE_PRECISION_BF16_MIXED),
                       989.4e12, 1e9);
    assert_float_equal(tide_stated_peak_flops("NVIDIA H100 PCIe", TIDE_PRECISION_BF16_TRUE), 756e12,
                       1e9);
    assert_float_equal(tide_stated_peak_flops("NVIDIA A100-SXM4-40GB", TIDE_PRECISION_TF32), 156e12,
                       1e9);
    assert_float_equal(tide_stated_peak_flops("NVIDIA A100-PCIE-40GB", TIDE_PRECISION_FP32),
                       19.5e12, 1e9);
    assert_float_equal(tide_stated_peak_flops("NVIDIA GeForce RTX 4060", TIDE_PRECISION_FP32),
                       15.1e12, 1e9);
    assert_float_equal(tide_stated_peak_flops("NVIDIA GeForce RTX 4060", TIDE_PRECISION_TF32),
                       15.1e12, 1e9);
    assert_float_equal(tide_stated_peak_flops("NVIDIA GeForce RTX 4060", TIDE_PRECISION_BF16_MIXED),
                       30.2e12, 1e9);
    assert_float_equal(tide_stated_peak_flops("NVIDIA A40", TIDE_PRECISION_FP16_MIXED), 149.7e12,
                       1e9);
    /* Cards with fp16 and without bf16. */
    assert_float_equal(tide_stated_peak_flops("Tesla V100-SXM2-16GB", TIDE_PRECISION_FP16_MIXED),
                       125e12, 1e9);
    assert_float_equal(tide_stated_peak_flops("Tesla T4", TIDE_PRECISION_FP16_MIXED), 65e12, 1e9);
    assert_true(tide_stated_peak_flops("Tesla T4", TIDE_PRECISION_BF16_MIXED) < 0.0);
}

static void other_cards_have_none(void **state) {
    (void)state;
    static const char *const OTHERS[] = {"",
                                         "cpu",
                                         "NVIDIA A1000",
                                         "NVIDIA GeForce RTX 3090 Ti",
                                         "NVIDIA GeForce RTX 4060 Ti",
                                         "NVIDIA A10G"};
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        assert_null(tide_stated_peak_find(OTHERS[i]));
        assert_true(tide_stated_peak_flops(OTHERS[i], TIDE_PRECISION_FP32) < 0.0);
    }
    /* A card without this kind of arithmetic. */
    assert_true(tide_stated_peak_flops("Tesla T4", TIDE_PRECISION_TF32) < 0.0);
}

static void a_share_is_work_over_time_over_peak(void **state) {
    (void)state;
    /* Half the time gives twice the share. */
    assert_float_equal(tide_stated_peak_share(1e12, 0.5, 4e12), 0.5, 1e-12);
    assert_float_equal(tide_stated_peak_share(1e12, 0.25, 4e12), 1.0, 1e-12);
    assert_true(tide_stated_peak_share(1e12, 0.0, 4e12) < 0.0);
    assert_true(tide_stated_peak_share(1e12, 0.5, -1.0) < 0.0);
    assert_true(tide_stated_peak_share(-1.0, 0.5, 4e12) < 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cards_are_found_by_the_drivers_name),
        cmocka_unit_test(other_cards_have_none),
        cmocka_unit_test(a_share_is_work_over_time_over_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
