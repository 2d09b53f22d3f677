/* test_quantized.c - what kernels of bitsandbytes and PyTorch's products of 4-bit and 8-bit weights
 * move and multiply, derived from their names and from arguments laid out by hand. */
#define _GNU_SOURCE /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/kernels/work.h"

int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaMallocManaged(void **ret_address, size_t n_bytes, unsigned flags);

static void *card, *managed;
enum { BLOCKS = 4, THREADS = 128 };

static tide_run_launch work_of(const char *name, void **arguments) {
    tide_vc_kernel_call call = {name, name, {BLOCKS, 1, 1}, {THREADS, 1, 1}, arguments};
    tide_run_launch row;
    tide_vc_work_of(&call, &row);
    return row;
}

static void check(const char *name, void **arguments, uint64_t bytes, uint64_t elements) {
    tide_run_launch row = work_of(name, arguments);
    assert_int_equal(row.family, TIDE_RUN_QUANTIZED);
    assert_int_equal(row.flags, 0);
    assert_int_equal(row.bytes, bytes);
    assert_int_equal(row.elements, elements);
}

/* Two states of fp32, read and written with bf16 weights; AdEMAMix has three. */
static void test_optimizers(void **state) {
    static const char ADAM[] =
        "_Z21kOptimizer32bit2StateI13__nv_bfloat16Li0EEvPT_S2_PfS3_S3_ffffffffiffbi";
    static const char ADEMAMIX[] = "_Z21kOptimizer32bit2StateIfLi6EEvPT_S1_PfS2_S2_ffffffffiffbi";
    static const char OLD_ADAM[] =
        "_Z21kOptimizer32bit2StateI13__nv_bfloat16Li0EEvPT_S2_PfS3_S3_fffffffiffbi";
    static const char LION[] = "_Z21kOptimizer32bit1StateIfLi5EEvPT_S1_PfS2_ffffffiffbi";
    void *p = card, *none = NULL;
    float f = 0;
    int step = 1, n = 1000;
    bool skips = false;
    void *two[] = {&p, &p, &p, &p, &none, &f, &f, &f,     &f,
                   &f, &f, &f, &f, &step, &f, &f, &skips, &n};
    void *old[] = {&p, &p, &p, &p, &none, &f, &f, &f, &f, &f, &f, &f, &step, &f, &f, &skips, &n};
    void *one[] = {&p, &p, &p, &none, &f, &f, &f, &f, &f, &f, &step, &f, &f, &skips, &n};
    (void)state;
    check(ADAM, two, 1000 * (2 + 2 * 2 + 4 * 4), 2000);
    check(OLD_ADAM, old, 1000 * (2 + 2 * 2 + 4 * 4), 2000);
    check(ADEMAMIX, two, 1000 * (4 + 2 * 4 + 6 * 4), 4000);
    check(LION, one, 1000 * (4 + 2 * 4 + 2 * 4), 2000);
    p = managed; /* paged states */
    check(ADAM, two, 1000 * (2 + 2 * 2 + 4 * 4), 2000);
    p = &n; /* neither of the card nor managed */
    assert_int_equal(work_of(ADAM, two).flags, TIDE_RUN_GUESSED);
}

/* Blocks of 256 elements, or 2048 before version 0.44, share a scale of each state. */
static void test_optimizers_of_8_bits(void **state) {
    static const char ADAM[] =
        "_Z35kOptimizerStatic8bit2StateBlockwiseI6__halfLi0ELi256ELi1EEvPT_S2_PhS3_fffffifPfS4_S4_"
        "S4_ffbi";
    static const char OLD_ADAM[] =
        "_Z35kOptimizerStatic8bit2StateBlockwiseI6__halfLi0ELi2048ELi8EEvPT_S2_PhS3_fffifPfS4_S4_"
        "S4_ffbi";
    void *p = card;
    float f = 0;
    int step = 1, n = 4096;
    bool skips = false;
    void *new[] = {&p, &p, &p, &p, &f, &f, &f, &f,     &f, &step,
                   &f, &p, &p, &p, &p, &f, &f, &skips, &n};
    void *old[] = {&p, &p, &p, &p, &f, &f, &f, &step, &f, &p, &p, &p, &p, &f, &f, &skips, &n};
    (void)state;
    check(ADAM, new, 4096 * (2 * 2 + 2 + 4) + 4 * 2 * 2 * 16, 8192);
    check(OLD_ADAM, old, 4096 * (2 * 2 + 2 + 4) + 4 * 2 * 2 * 2, 8192);
}

static void test_quantization(void **state) {
    static const char OF_4_BITS[] =
        "_Z20kDequantizeBlockwiseI13__nv_bfloat16Li512ELi64ELi8ELi2EEvPfPhS1_PT_ii";
    static const char OF_8_BITS[] = "_Z20kDequantizeBlockwiseIfLi512ELi64ELi8ELi0EEvPfPhS0_PT_ii";
    static const char TO_8_BITS[] =
        "_Z18kQuantizeBlockwiseI6__halfLi256ELi2ELi0ELi0EEvPfPT_S1_PhS1_ii";
    static const char TO_4_BITS[] =
        "_Z18kQuantizeBlockwiseI6__halfLi128ELi2ELi0ELi2EEvPfPT_S1_PhS1_ii";
    void *p = card, *none = NULL;
    int scale = 32, n = 6400, zero = 0;
    void *from[] = {&p, &p, &p, &p, &scale, &n};
    void *to[] = {&p, &p, &p, &p, &none, &zero, &n};
    (void)state;
    check(OF_4_BITS, from, 6400 / 2 + 100 * 4 + 6400 * 2, 6400); /* 32 bytes have a scale */
    check(OF_8_BITS, from, 6400 + 200 * 4 + 6400 * 4, 6400);
    check(TO_8_BITS, to, 6400 * 2 + BLOCKS * 4 + 6400, 6400);
    check(TO_4_BITS, to, 6400 * 2 + BLOCKS * 4 + 6400 / 2, 6400);
}

static void test_products(void **state) {
    static const char SIMT[] =
        "_Z14gemm_4bit_simtI13__nv_bfloat16Li1EEvPKT_PKhPKfS5_S7_S7_PS1_S3_iiiii";
    static const char HALF[] = "_Z14gemm_4bit_simtI6__halfLi1EEvPKT_PKhPKfS5_S7_S7_PS1_S3_iiiii";
    static const char PYTORCH[] =
        "_ZN2at6native30tinygemm_m16n8k16_chunk_kernelINS0_10ALayout_RMILNS0_14KReductionTypeE0EEE"
        "NS0_15BLayout_TC_int4ILi2ELi32EEES4_Li8ELi8EEEvPKvS8_S8_Pviiiiii";
    void *p = card, *none = NULL;
    int m = 3, n = 512, k = 640, group = 64, zero = 0;
    void *simt[] = {&p, &p, &p, &none, &none, &none, &p, &none, &m, &n, &k, &group, &zero};
    void *pytorch[] = {&p, &p, &p, &p, &m, &n, &k, &zero, &zero, &zero};
    (void)state;
    tide_run_launch row = work_of(SIMT, simt);
    assert_int_equal(row.bytes, 3 * 640 * 2 + 512 * 640 / 2 + 512 * 10 * 4 + 3 * 512 * 2);
    assert_int_equal(row.elements, 3 * 512 * 640);
    assert_int_equal(row.k, TIDE_RUN_MULTIPLIES);
    assert_int_equal(row.m, BLOCKS);
    assert_int_equal(row.type, TIDE_RUN_BF16);
    assert_int_equal(work_of(HALF, simt).type, TIDE_RUN_FP16); /* cards before 8.0 have no bf16 */
    row = work_of(PYTORCH, pytorch);
    assert_int_equal(row.bytes, 3 * 640 * 2 + 512 * 640 / 2 + 512 * 20 * 4 + 3 * 512 * 2);
    assert_int_equal(row.elements, 3 * 512 * 640);
}

static int set_up(void **state) {
    (void)state;
    (void)setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    return cudaMalloc(&card, 1 << 20) != 0 || cudaMallocManaged(&managed, 1 << 20, 1) != 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optimizers),
        cmocka_unit_test(test_optimizers_of_8_bits),
        cmocka_unit_test(test_quantization),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
