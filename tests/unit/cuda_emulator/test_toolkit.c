/* test_toolkit.c - our declarations of CUDA equal the toolkit's, if one is installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "declared.h"

static void declarations_equal(void **state) {
    (void)state;
    const declared_headers *ours = declared_by_emulator();
    const declared_headers *theirs = declared_by_toolkit();
    assert_int_equal(ours->n_values, theirs->n_values);
    assert_true(ours->n_values > 80);
    for (size_t i = 0; i < ours->n_values; i++) {
        const declared_value *our = &ours->values[i];
        const declared_value *their = &theirs->values[i];
        assert_string_equal(our->name, their->name);
        if (our->value != their->value || strcmp(our->type, their->type) != 0) {
            fail_msg("%s: %lld %s, the toolkit says %lld %s", our->name, our->value, our->type,
                     their->value, their->type);
        }
    }
}

static float as_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint32_t as_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Every sign and exponent, with fractions around every halfway point; and every bf16 number. */
static void conversions_equal(void **state) {
    (void)state;
    static const uint32_t LOW[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    const declared_headers *ours = declared_by_emulator();
    const declared_headers *theirs = declared_by_toolkit();
    for (uint32_t high = 0; high < 0x10000; high++) {
        assert_int_equal(as_bits(ours->to_fp32((uint16_t)high)),
                         as_bits(theirs->to_fp32((uint16_t)high)));
        for (size_t i = 0; i < sizeof(LOW) / sizeof(LOW[0]); i++) {
            const float x = as_float(high << 16 | LOW[i]);
            if (ours->to_bf16(x) != theirs->to_bf16(x)) {
                fail_msg("%08x: %04x, the toolkit says %04x", (unsigned)(high << 16 | LOW[i]),
                         ours->to_bf16(x), theirs->to_bf16(x));
            }
        }
    }
    assert_int_equal(ours->two_bf16(1.5F, -2.0F), theirs->two_bf16(1.5F, -2.0F));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_equal),
        cmocka_unit_test(conversions_equal),
    };
    return cmocka_run_group_tests_name("cuda_emulator.toolkit", tests, NULL, NULL);
}
