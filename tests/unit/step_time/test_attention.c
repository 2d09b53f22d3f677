/* test_attention.c - times of fused attention, compared with figures computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cards.h"
#include "programs/step_time/work.h"

static tide_work_time time_of(const tide_run_launch *row) {
    tide_time_card card;
    tide_error error = {0};
    assert_int_equal(tide_time_card_of(tide_card_find("h100-80"), &card, &error), TIDE_OK);
    return tide_work_time_of(&TIDE_TIME_CONSTANTS, &card, row);
}

/* 4096 queries and keys of 132 heads of 128 channels: 32 blocks of each head, a whole number of
 * waves. 1.1337e12 FLOP at 35 % of 989.4e12 a second; half of it if it is causal. */
static tide_run_launch whole_waves(void) {
    return (tide_run_launch){.kind = TIDE_RUN_ATTENTION,
                             .m = 4096,
                             .n = 4096,
                             .k = 128,
                             .count = 132,
                             .type = TIDE_RUN_BF16};
}

static void is_us(double found, double expected) {
    if (fabs(found - expected) > 1e-3 * expected) {
        fail_msg("%f us, and not %f", found, expected);
    }
}

static void test_forward_and_backward(void **state) {
    (void)state;
    tide_time_card card;
    tide_error error = {0};
    assert_int_equal(tide_time_card_of(tide_card_find("h100-80"), &card, &error), TIDE_OK);
    double rate = 0.35 * tide_time_card_flops(&card, TIDE_RUN_BF16) * 1e-6;
    double flops = 2.0 * 2.0 * 4096 * 4096 * 128 * 132;
    tide_run_launch row = whole_waves();
    tide_work_time time = time_of(&row);
    is_us(time.us, 3.05 + flops / rate);
    is_us(time.flops, flops);
    assert_int_equal(time.bound, TIDE_TIME_BY_GEMM);
    assert_int_equal(time.basis, TIDE_TIME_UNCOMPARED);
    row.flags = TIDE_RUN_CAUSAL;
    is_us(time_of(&row).us, 3.05 + flops / 2.0 / rate);
    row.flags = TIDE_RUN_BACKWARD; /* five products instead of two, at four fifths of the rate */
    is_us(time_of(&row).us, 3.05 + flops * 2.5 / (0.8 * rate));
}

/* One more head is one more wave. */
static void test_waves(void **state) {
    (void)state;
    tide_run_launch row = whole_waves();
    double us = time_of(&row).us - 3.05;
    row.count++;
    is_us(time_of(&row).us - 3.05, us * 33.0 / 32.0);
}

/* One query of 4 heads over 8192 keys: the keys are cut into 33 parts of each head, and the time is
 * that of reading them, some 17 MB: an eighth of a millisecond if one multiprocessor did it alone.
 */
static void test_one_token(void **state) {
    (void)state;
    tide_run_launch row = {.kind = TIDE_RUN_ATTENTION,
                           .m = 1,
                           .n = 8192,
                           .k = 128,
                           .count = 4,
                           .bytes = 4 * 2 * 8192 * 128 * 2,
                           .type = TIDE_RUN_FP16};
    tide_work_time time = time_of(&row);
    assert_int_equal(time.bound, TIDE_TIME_BY_MEMORY);
    assert_true(time.us < 12.0);
}

/* Three products of TF32 replace one of fp32. */
static void test_fp32(void **state) {
    (void)state;
    tide_run_launch row = whole_waves();
    row.type = TIDE_RUN_TF32;
    double rounded = time_of(&row).us - 3.05;
    row.type = TIDE_RUN_FP32;
    is_us(time_of(&row).us - 3.05, 3.0 * rounded);
    row.type = TIDE_RUN_FP8; /* no rate is stated */
    assert_int_equal(time_of(&row).basis, TIDE_TIME_GUESSED);
}

/* Our own kernels: the stated number of products, in blocks of 64, never with split keys, and in
 * fp32 on the fp32 lanes. */
static void test_own(void **state) {
    (void)state;
    tide_time_card card;
    tide_error error = {0};
    assert_int_equal(tide_time_card_of(tide_card_find("h100-80"), &card, &error), TIDE_OK);
    double half = 2.0 * 4096 * 4096 * 128 * 132 / 2.0; /* FLOP of a product, causal */
    double rate = 0.35 * tide_time_card_flops(&card, TIDE_RUN_BF16) * 1e-6;
    tide_run_launch row = whole_waves();
    row.family = TIDE_RUN_OWN;
    row.elements = 2;
    row.flags = TIDE_RUN_CAUSAL;
    is_us(time_of(&row).us, 3.05 + 2.0 * half / rate);
    assert_int_equal(time_of(&row).basis, TIDE_TIME_UNCOMPARED);
    row.flags = TIDE_RUN_CAUSAL | TIDE_RUN_BACKWARD;
    row.elements = 3;
    is_us(time_of(&row).us, 3.05 + 3.0 * half / (0.8 * rate));
    is_us(time_of(&row).flops, 3.0 * half);
    row.type = TIDE_RUN_FP32;
    rate = 0.35 * tide_time_card_flops(&card, TIDE_RUN_FP32) * 1e-6;
    is_us(time_of(&row).us, 3.05 + 3.0 * half / (0.8 * rate));
    /* One head has 64 blocks, less than the card has multiprocessors, and is not cut further: each
     * block takes a 64th of the head's work on one of 132. */
    row = (tide_run_launch){.kind = TIDE_RUN_ATTENTION,
                            .family = TIDE_RUN_OWN,
                            .m = 4096,
                            .n = 4096,
                            .k = 128,
                            .count = 1,
                            .elements = 2,
                            .type = TIDE_RUN_FP32};
    is_us(time_of(&row).us, 3.05 + 2.0 * 2.0 * 4096 * 4096 * 128 / 64.0 / (rate / 132.0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own), cmocka_unit_test(test_forward_and_backward),
        cmocka_unit_test(test_waves), cmocka_unit_test(test_one_token),
        cmocka_unit_test(test_fp32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
