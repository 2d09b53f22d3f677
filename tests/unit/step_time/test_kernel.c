/* test_kernel.c - times of variants of kernels and of convolutions, computed by hand for round
 * constants. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/step_time/work.h"
#include "support/made_launches.h"

static const tide_time_constants PLAIN = {.vectorised_share = 1.0,
                                          .casting_share = 1.0,
                                          .strided_share = 1.0,
                                          .reduction_share = 1.0,
                                          .issue_rate = 1.0,
                                          .memory_factor = {0.0, 0.5},
                                          .strided_cycles = 2.0,
                                          .pointer_cycles = 3.0,
                                          .division_cycles = 7.0,
                                          .rows_share = 0.5,
                                          .moments_share = 0.25,
                                          .row_us = 6.0,
                                          .indexed_rows_cycles = 5.0,
                                          .convolution_share = 0.5,
                                          .pointwise_share = 0.8,
                                          .grouped_share = 0.25,
                                          .gradient_factor = 0.4,
                                          .layout_copies_bandwidth = 2.0,
                                          .fp32_share = {1.0, 1.0, 1.0, 1.0},
                                          .tensor_share = {1.0, 1.0, 1.0, 1.0},
                                          .tf32_share = 1.0,
                                          .layout_factor = 1.0};

/* 100 multiprocessors of 1 cycle a microsecond; 1000 bytes a microsecond; the cache holds the rows
 * of 2 blocks a multiprocessor, twice, if they have up to 1000 elements. */
static const tide_stated_peak PEAK = {"made", 1e8, 2e8, 4e8, 4e8, "made"};
static const tide_time_card CARD = {.peak = &PEAK,
                                    .bandwidth = 1e9,
                                    .cache_bytes = 100 * 2 * 4 * 1000 * 2,
                                    .n_multiprocessors = 100.0,
                                    .clock_hz = 1e6,
                                    .chip = TIDE_TIME_HOPPER};

static double us_of(tide_run_launch row) {
    return tide_work_time_of(&PLAIN, &CARD, &row).us;
}

static void is_us(double found, double expected) {
    assert_true(found > expected * (1.0 - 1e-9) && found < expected * (1.0 + 1e-9));
}

static tide_run_launch kernel(tide_run_family family, tide_run_variant variant, uint32_t rows,
                              uint32_t columns) {
    uint64_t elements = (uint64_t)rows * columns;
    return (tide_run_launch){.kind = TIDE_RUN_KERNEL,
                             .family = (uint8_t)family,
                             .k = variant,
                             .m = rows,
                             .n = columns,
                             .elements = elements,
                             .bytes = 8 * elements,
                             .name = UINT32_MAX};
}

/* Half of the cache holds the rows of 200 blocks, if they have 1000 elements. With twice as many,
 * half of each row is read again. */
static void rows_of_softmax_are_read_again_when_the_cache_is_full(void **state) {
    (void)state;
    double bytes_us = 2.0 * 8.0 * 200 * 1000 / 1000;
    double rows_us = 6.0 * 200 / (100 * 2);
    is_us(us_of(kernel(TIDE_RUN_SOFTMAX, TIDE_RUN_BY_WARP, 200, 1000)), bytes_us);
    is_us(us_of(kernel(TIDE_RUN_SOFTMAX, TIDE_RUN_BY_BLOCK_ONCE, 200, 1000)), bytes_us + rows_us);
    is_us(us_of(kernel(TIDE_RUN_SOFTMAX, TIDE_RUN_BY_BLOCK, 200, 1000)), bytes_us + rows_us);
    is_us(us_of(kernel(TIDE_RUN_SOFTMAX, TIDE_RUN_BY_BLOCK, 100, 2000)),
          1.5 * bytes_us + rows_us / 2);
    is_us(us_of(kernel(TIDE_RUN_SOFTMAX, TIDE_RUN_BY_BLOCK, 50, 4000)),
          1.75 * bytes_us + rows_us / 4);
    is_us(us_of(kernel(TIDE_RUN_SOFTMAX, TIDE_RUN_BY_BLOCK_BACKWARD, 100, 2000)),
          4.0 / 3.0 * bytes_us + rows_us / 2);
}

static void a_layer_norm_fills_the_cache_with_16_rows(void **state) {
    (void)state;
    double bytes_us = 2.0 * 8.0 * 800 * 125 / 1000;
    double rows_us = 6.0 * 800 / (100 * 16);
    is_us(us_of(kernel(TIDE_RUN_NORM, TIDE_RUN_LAYER, 800, 125)), bytes_us + rows_us);
    is_us(us_of(kernel(TIDE_RUN_NORM, TIDE_RUN_LAYER, 400, 250)), 1.25 * bytes_us + rows_us / 2);
    is_us(us_of(kernel(TIDE_RUN_NORM, TIDE_RUN_GROUPS, 400, 250)), 2.0 * bytes_us);
}

static void strided_kernels_take_longer_for_many_pointers(void **state) {
    static const double CYCLES[] = {1.0, 2.0, 2.0, 2.0, 2.0, 5.0, 8.0, 11.0}; /* 0: unknown */
    (void)state;
    for (uint32_t n = 0; n < 8; n++) {
        tide_run_launch row = kernel(TIDE_RUN_STRIDED, TIDE_RUN_NO_VARIANT, 100, 1000);
        row.bytes = 8;
        row.count = n;
        is_us(us_of(row), 1000.0 * CYCLES[n]);
    }
    tide_run_launch rows = kernel(TIDE_RUN_GATHER_ROWS, TIDE_RUN_INDEXED_ROWS, 100, 1000);
    is_us(us_of(rows), 5.0 * 1000);
}

static void divisions_take_cycles(void **state) {
    (void)state;
    tide_run_launch row = kernel(TIDE_RUN_VECTORISED, TIDE_RUN_DIVISIONS, 100, 1000);
    row.m = 3;
    is_us(us_of(row), 3.0 * 7.0 * 1000);
    row.bytes = 100000000; /* or those of its bytes */
    is_us(us_of(row), 100000.0);
}

static void single_elements_share_sectors(void **state) {
    (void)state;
    tide_run_launch row = kernel(TIDE_RUN_SCATTER_ROWS, TIDE_RUN_SINGLE_ELEMENTS, 100, 1000);
    row.bytes = 44 * row.elements;
    is_us(us_of(row), 2.0 * 20.0 * 100);
    row.bytes = 12 * row.elements; /* of a smaller type */
    is_us(us_of(row), 2.0 * 12.0 * 100);
}

static void memories_reach_their_share(void **state) {
    (void)state;
    tide_time_card card = CARD;
    tide_run_launch row = kernel(TIDE_RUN_VECTORISED, TIDE_RUN_NO_VARIANT, 100, 1000);
    is_us(tide_work_time_of(&PLAIN, &card, &row).us, 800.0);
    card.memory = TIDE_TIME_HBM2E;
    is_us(tide_work_time_of(&PLAIN, &card, &row).us, 1600.0);
}

/* Twice the time of the product, and the copies of a million bytes at twice the bandwidth. */
static void convolutions_copy_into_the_layout_of_tensor_cores(void **state) {
    tide_run_launch row = {.kind = TIDE_RUN_CONVOLUTION,
                           .m = 25600,
                           .n = 128,
                           .k = 64,
                           .count = 1,
                           .elements = 9,
                           .bytes = 1000000,
                           .type = TIDE_RUN_FP16,
                           .out_type = TIDE_RUN_FP16,
                           .flags = TIDE_RUN_CHANNELS_LAST,
                           .name = UINT32_MAX};
    (void)state;
    tide_run_launch product = row;
    product.kind = TIDE_RUN_PRODUCT;
    product.bytes = 0;
    double product_us = us_of(product);
    is_us(us_of(row), product_us / 0.5);
    row.flags = 0;
    is_us(us_of(row), product_us / 0.5 + 2 * 1000.0 / 2.0);
    row.flags = TIDE_RUN_POINTWISE;
    is_us(us_of(row), product_us / 0.8);
    row.flags = TIDE_RUN_POINTWISE | TIDE_RUN_BACKWARD;
    is_us(us_of(row), product_us / (0.8 * 0.4));
    row.flags = 0;
    row.type = TIDE_RUN_FP32; /* plain lanes need no other layout */
    double plain_us = us_of(row);
    row.flags = TIDE_RUN_CHANNELS_LAST;
    is_us(us_of(row), plain_us);
}

static void groups_reach_less_of_the_rate(void **state) {
    tide_run_launch row = {.kind = TIDE_RUN_CONVOLUTION,
                           .m = 25600,
                           .n = 128,
                           .k = 64,
                           .count = 2,
                           .elements = 9,
                           .bytes = 1000,
                           .type = TIDE_RUN_FP16,
                           .out_type = TIDE_RUN_FP16,
                           .name = UINT32_MAX};
    (void)state;
    tide_run_launch product = row;
    product.kind = TIDE_RUN_PRODUCT;
    product.bytes = 0;
    is_us(us_of(row), us_of(product) / 0.25);
    row.flags = TIDE_RUN_BACKWARD;
    is_us(us_of(row), us_of(product) / (0.25 * 0.4));
}

/* 4 columns would fill an eighth of the smallest tile. */
static void narrow_products_are_bound_by_their_bytes(void **state) {
    (void)state;
    tide_run_launch row = made_product(TIDE_RUN_FP16, 4, 4, 4096);
    row.count = 1000;
    double flops = 2.0 * 4 * 4 * 4096 * 1000;
    is_us(us_of(row), fmax(flops / 1e2, 1000 * (2 * 4 * 4096 + 16) * 2 / 1000.0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_softmax_are_read_again_when_the_cache_is_full),
        cmocka_unit_test(a_layer_norm_fills_the_cache_with_16_rows),
        cmocka_unit_test(strided_kernels_take_longer_for_many_pointers),
        cmocka_unit_test(divisions_take_cycles),
        cmocka_unit_test(single_elements_share_sectors),
        cmocka_unit_test(memories_reach_their_share),
        cmocka_unit_test(convolutions_copy_into_the_layout_of_tensor_cores),
        cmocka_unit_test(groups_reach_less_of_the_rate),
        cmocka_unit_test(narrow_products_are_bound_by_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
