/* test_fp16.c - half precision against its definition: every one of its values, and the numbers
 * between two of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/fp16.h"

/* The value by the standard's formula. */
static double value_of(uint16_t x) {
    int exponent = (x >> 10) & 0x1F;
    double fraction = (double)(x & 0x3FF) / 1024.0;
    double magnitude = exponent == 0      ? ldexp(fraction, -14)
                       : exponent == 0x1F ? (fraction == 0.0 ? INFINITY : NAN)
                                          : ldexp(1.0 + fraction, exponent - 15);
    return (x & 0x8000) != 0 ? -magnitude : magnitude;
}

static void every_value_is_kept(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t x = (uint16_t)i;
        float wide = tide_fp16_to_fp32(x);
        double expected = value_of(x);
        if (isnan(expected)) {
            assert_true(isnan(wide));
            assert_true(isnan(tide_fp16_to_fp32(tide_fp32_to_fp16(wide))));
        } else {
            assert_true((double)wide == expected);
            assert_true((signbit(wide) != 0) == ((x & 0x8000) != 0));
            assert_int_equal(tide_fp32_to_fp16(wide), x);
        }
    }
}

/* Between two neighbours, the half nearer to zero rounds down and the other up; the middle goes to
 * the even one. fp32 has 13 more bits, so the middle and its own neighbours are exact. */
static void the_nearest_value_is_chosen(void **state) {
    (void)state;
    for (uint16_t x = 0; x < 0x7BFF; x++) {
        uint16_t next = (uint16_t)(x + 1);
        float low = tide_fp16_to_fp32(x);
        float middle = low + (tide_fp16_to_fp32(next) - low) / 2.0F;
        assert_int_equal(tide_fp32_to_fp16(nextafterf(middle, 0.0F)), x);
        assert_int_equal(tide_fp32_to_fp16(nextafterf(middle, INFINITY)), next);
        assert_int_equal(tide_fp32_to_fp16(middle), (x & 1) == 0 ? x : next);
        assert_int_equal(tide_fp32_to_fp16(-middle), 0x8000 | ((x & 1) == 0 ? x : next));
    }
}

static void large_numbers_become_infinite(void **state) {
    (void)state;
    assert_int_equal(tide_fp32_to_fp16(65504.0F), 0x7BFF);
    assert_int_equal(tide_fp32_to_fp16(nextafterf(65520.0F, 0.0F)), 0x7BFF);
    assert_int_equal(tide_fp32_to_fp16(65520.0F), 0x7C00);
    assert_int_equal(tide_fp32_to_fp16(-3e38F), 0xFC00);
    assert_int_equal(tide_fp32_to_fp16(-INFINITY), 0xFC00);
    assert_int_equal(tide_fp32_to_fp16(1e-30F), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_kept),
        cmocka_unit_test(the_nearest_value_is_chosen),
        cmocka_unit_test(large_numbers_become_infinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
