/* test_product.c - times of kernels and products, computed by hand for round constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/step_time/work.h"
#include "support/made_launches.h"

/* Every share is 1 and nothing has a fixed time, so that the figures follow from the card's
 * only. */
static const tide_time_constants PLAIN = {.vectorised_share = 1.0,
                                          .casting_share = 1.0,
                                          .strided_share = 1.0,
                                          .generated_share = 1.0,
                                          .generated_turns_share = 0.5,
                                          .atomic_cycles = 3.0,
                                          .reduction_share = 1.0,
                                          .issue_rate = 1.0,
                                          .fp32_share = {1.0, 1.0, 1.0, 1.0},
                                          .tensor_share = {1.0, 1.0, 1.0, 1.0},
                                          .tf32_share = 1.0,
                                          .layout_factor = 0.5};

/* 100 multiprocessors of 1 FLOP a microsecond each in fp32; 1000 bytes a microsecond. */
static const tide_stated_peak PEAK = {"made", 1e8, 2e8, 4e8, 4e8, "made"};
static const tide_time_card CARD = {.peak = &PEAK,
                                    .bandwidth = 1e9,
                                    .cache_bytes = 100.0,
                                    .n_multiprocessors = 100.0,
                                    .clock_hz = 1e6,
                                    .chip = TIDE_TIME_HOPPER};

static double us_of(const tide_time_constants *constants, tide_run_launch row) {
    return tide_work_time_of(constants, &CARD, &row).us;
}

static void a_kernel_takes_the_time_of_its_bytes(void **state) {
    (void)state;
    tide_time_constants constants = PLAIN;
    assert_float_equal(us_of(&constants, made_kernel(TIDE_RUN_VECTORISED, 4000)), 4.0, 1e-9);
    constants.vectorised_share = 0.5;
    assert_float_equal(us_of(&constants, made_kernel(TIDE_RUN_VECTORISED, 4000)), 8.0, 1e-9);
    constants.kernel_us = 2.0;
    assert_float_equal(us_of(&constants, made_kernel(TIDE_RUN_VECTORISED, 4000)), 10.0, 1e-9);
    constants.cache_bytes = 10.0; /* twice as fast as memory; the cache has 100 bytes */
    assert_float_equal(us_of(&constants, made_kernel(TIDE_RUN_VECTORISED, 40)), 2.056, 1e-9);
    assert_float_equal(us_of(&constants, made_kernel(TIDE_RUN_VECTORISED, 100)), 2.2, 1e-9);
    constants.cache_bytes = 1.0; /* a cache is not slower than memory */
    assert_float_equal(us_of(&constants, made_kernel(TIDE_RUN_VECTORISED, 40)), 2.08, 1e-9);
}

static void addresses_bound_strided_kernels(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_STRIDED, 1000);
    row.elements = 500; /* 100 multiprocessors do 100 elements a microsecond */
    tide_work_time time = tide_work_time_of(&PLAIN, &CARD, &row);
    assert_float_equal(time.us, 5.0, 1e-9);
    assert_int_equal(time.bound, TIDE_TIME_BY_ADDRESSES);
    row.family = TIDE_RUN_VECTORISED;
    time = tide_work_time_of(&PLAIN, &CARD, &row);
    assert_float_equal(time.us, 1.0, 1e-9);
    assert_int_equal(time.bound, TIDE_TIME_BY_MEMORY);
}

/* 100 tiles of 128 x 128 are one wave: k = 10 makes 2 * 128 * 128 * 10 FLOP each. */
static void a_product_takes_whole_waves(void **state) {
    (void)state;
    tide_run_launch one = made_product(TIDE_RUN_FP32, 1280, 1280, 10);
    tide_run_launch more = made_product(TIDE_RUN_FP32, 1281, 1280, 10);
    assert_float_equal(tide_product_us(&PLAIN, &CARD, &one), 327680.0, 1e-6);
    /* One row more: 110 tiles are two waves of that shape; other shapes waste less. */
    double us = tide_product_us(&PLAIN, &CARD, &more);
    assert_true(us > 327680.0 * 1281.0 / 1280.0 && us < 2.0 * 327680.0);
}

static void types_have_their_rates(void **state) {
    (void)state;
    tide_run_launch row = made_product(TIDE_RUN_TF32, 2560, 1280, 10);
    /* 100 tiles of 256 x 128 on tensor cores: 2 * 256 * 128 * 10 / 2 FLOP a us. */
    assert_float_equal(tide_product_us(&PLAIN, &CARD, &row), 327680.0, 1e-6);
    row.flags = 0; /* k is not the inner dimension of the first factor */
    assert_float_equal(tide_product_us(&PLAIN, &CARD, &row), 655360.0, 1e-6);
    row.type = TIDE_RUN_BF16;
    assert_float_equal(tide_product_us(&PLAIN, &CARD, &row), 163840.0, 1e-6);
    row.type = TIDE_RUN_FP64;
    assert_true(tide_product_us(&PLAIN, &CARD, &row) < 0.0);
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).basis, TIDE_TIME_GUESSED);
}

/* A kernel that multiplies itself: 150 blocks take two waves of the 100 multiprocessors. */
static void kernels_multiply_in_whole_waves(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_GENERATED, 1000);
    row.k = TIDE_RUN_MULTIPLIES;
    row.type = TIDE_RUN_BF16;
    row.elements = 850000; /* 2 FLOP each, at 0.85 of 4 FLOP a us and multiprocessor */
    row.m = 100;
    tide_work_time time = tide_work_time_of(&PLAIN, &CARD, &row);
    assert_float_equal(time.us, 5000.0, 1e-6);
    assert_float_equal(time.flops, 1.7e6, 1e-6);
    assert_int_equal(time.bound, TIDE_TIME_BY_GEMM);
    row.elements = 1275000;
    row.m = 150;
    assert_float_equal(us_of(&PLAIN, row), 10000.0, 1e-6);
    row.bytes = 100000000;
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).bound, TIDE_TIME_BY_MEMORY);
    row.type = TIDE_RUN_FP64; /* without a stated rate */
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).basis, TIDE_TIME_GUESSED);
}

/* The card has 100 bytes of cache: rows of 100 blocks that fill more than half are read again. */
static void rows_are_read_again_beyond_the_cache(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_GENERATED, 4000);
    row.k = TIDE_RUN_READS_AGAIN;
    row.m = 1000;
    row.n = 0;
    row.count = 2;
    assert_float_equal(us_of(&PLAIN, row), 4.0, 1e-9);
    row.n = 1;
    assert_float_equal(us_of(&PLAIN, row), 6.0, 1e-9);
}

static void atomic_operations_bound_a_kernel(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_GENERATED, 1000);
    row.k = TIDE_RUN_ADDS;
    row.elements = 500; /* 3 cycles each, of 100 a microsecond */
    assert_float_equal(us_of(&PLAIN, row), 15.0, 1e-9);
    row.elements = 1;
    assert_float_equal(us_of(&PLAIN, row), 1.0, 1e-9);
}

/* 100 multiprocessors: a block for each waits for its rows, and a second one hides the wait. */
static void rows_in_turn_leave_memory_idle(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_GENERATED, 4000);
    row.k = TIDE_RUN_IN_TURN;
    row.m = 100;
    assert_float_equal(us_of(&PLAIN, row), 8.0, 1e-9);
    row.m = 101;
    assert_float_equal(us_of(&PLAIN, row), 4.0, 1e-9);
}

static void what_is_guessed_is_said(void **state) {
    (void)state;
    tide_run_launch row = made_kernel(TIDE_RUN_OTHER, 1000);
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).basis, TIDE_TIME_GUESSED);
    row.family = TIDE_RUN_FOURIER;
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).basis, TIDE_TIME_UNCOMPARED);
    row.family = TIDE_RUN_VECTORISED;
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).basis, TIDE_TIME_COMPARED);
    row.flags = TIDE_RUN_ESTIMATED;
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).basis, TIDE_TIME_UNCOMPARED);
    row.flags = TIDE_RUN_GUESSED;
    assert_int_equal(tide_work_time_of(&PLAIN, &CARD, &row).basis, TIDE_TIME_GUESSED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_takes_the_time_of_its_bytes),
        cmocka_unit_test(addresses_bound_strided_kernels),
        cmocka_unit_test(a_product_takes_whole_waves),
        cmocka_unit_test(types_have_their_rates),
        cmocka_unit_test(kernels_multiply_in_whole_waves),
        cmocka_unit_test(rows_are_read_again_beyond_the_cache),
        cmocka_unit_test(rows_in_turn_leave_memory_idle),
        cmocka_unit_test(atomic_operations_bound_a_kernel),
        cmocka_unit_test(what_is_guessed_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
