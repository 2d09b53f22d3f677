/* test_work_attention.c - rows of fused attention, from the arguments of PyTorch's kernels as laid
 * out in memory: sizes, types, masks and bytes; and invalid layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "programs/virtual_cuda/launches/kernels/attention.h"
#include "programs/virtual_cuda/launches/kernels/work.h"

#define TRAITS(direction, type)                                                                    \
    "I23Flash_" direction "_kernel_traitsILi64ELi128ELi64ELi4ELb0ELb0EN7cutlass" type              \
    "E19Flash_kernel_traitsILi64ELi128ELi64ELi4ES3_EE"
#define BF16 "10bfloat16_t"
#define HALF "6half_t"
#define FORWARD(type, causal)                                                                      \
    "_ZN13pytorch_flash16flash_fwd_kernel" TRAITS(                                                 \
        "fwd", type) "Lb0ELb" causal "ELb0ELb0ELb0ELb1ELb0ELb0EEEvNS_16Flash_fwd_paramsE"
#define LOCAL                                                                                      \
    "_ZN13pytorch_flash16flash_fwd_kernel" TRAITS(                                                 \
        "fwd", BF16) "Lb0ELb0ELb1ELb0ELb0ELb1ELb0ELb0EEEvNS_16Flash_fwd_paramsE"
#define PARTS                                                                                      \
    "_ZN13pytorch_flash24flash_fwd_splitkv_kernel" TRAITS(                                         \
        "fwd", HALF) "Lb0ELb0ELb0ELb0ELb1ELb0ELb1ELb0EEEvNS_16Flash_fwd_paramsE"
#define JOIN                                                                                       \
    "_ZN13pytorch_flash32flash_fwd_splitkv_combine_kernel" TRAITS(                                 \
        "fwd", HALF) "Li8ELi3ELb1EEEvNS_16Flash_fwd_paramsE"
#define BACKWARD                                                                                   \
    "_ZN13pytorch_flash44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel" TRAITS(                     \
        "bwd", HALF) "Lb1ELb0ELb0ELb0ELb0ELb1ELb0EEEvNS_16Flash_bwd_paramsE"
#define DOT                                                                                        \
    "_ZN13pytorch_flash25flash_bwd_dot_do_o_kernelILb1E23Flash_bwd_kernel_traitsILi64ELi128ELi64E" \
    "Li8ELi4ELi4ELi4ELb0ELb0EN7cutlass6half_tE19Flash_kernel_traitsILi64ELi128ELi64ELi8ES3_EEEEv"  \
    "NS_16Flash_bwd_paramsE"
#define CONVERT                                                                                    \
    "_ZN13pytorch_flash27flash_bwd_convert_dq_kernel" TRAITS("bwd",                                \
                                                             HALF) "EEvNS_16Flash_bwd_paramsEi"
#define EFFICIENT                                                                                  \
    "_Z40fmha_cutlassF_f16_aligned_64x128_rf_sm80N22PyTorchMemEffAttention15AttentionKernelI"      \
    "N7cutlass6half_tENS1_4arch4Sm80ELb1ELi64ELi128ELi128ELb1ELb1EE6ParamsE"
#define EFFICIENT_BACKWARD                                                                         \
    "_Z40fmha_cutlassB_f32_aligned_64x64_k64_sm80N22PyTorchMemEffAttention23AttentionBackward"     \
    "KernelIN7cutlass4arch4Sm80EfLb1ELb0ELb0ELi64ELi64ELi64ELb0EE6ParamsE"

static unsigned char parameters[512];
static char *card;

static int take_card(void **state) {
    (void)state;
    memset(parameters, 0, sizeof(parameters));
    return cudaMalloc((void **)&card, 4096);
}

static int leave_card(void **state) {
    (void)state;
    return cudaFree(card);
}

static void set(size_t at, int value) {
    memcpy(parameters + at, &value, sizeof(value));
}

static void point(size_t at) {
    memcpy(parameters + at, &card, sizeof(card));
}

static tide_run_launch launch(const char *name, unsigned x, unsigned y, unsigned z) {
    void *arguments[2] = {parameters, &card};
    tide_vc_kernel_call call = {name, name, {x, y, z}, {128, 1, 1}, arguments};
    tide_run_launch row;
    tide_vc_work_of(&call, &row);
    return row;
}

/* 3 sequences of 333 queries and 1234 keys, 10 heads of 64 channels over so many of keys. */
static void describe_flash(int n_key_heads) {
    point(0);
    point(8);
    point(16);
    set(96, 10);
    set(100, n_key_heads);
    set(104, 10 / n_key_heads);
    set(176, 3);
    set(180, 333);
    set(184, 1234);
    set(192, 64);
    set(196, 384);
    set(200, 1280);
    set(204, 64);
    set(388, -1);
    set(392, -1);
}

static void is_of(tide_run_launch row, uint32_t m, uint32_t n, uint32_t k, uint32_t count) {
    assert_int_equal(row.kind, TIDE_RUN_ATTENTION);
    assert_int_equal(row.m, m);
    assert_int_equal(row.n, n);
    assert_int_equal(row.k, k);
    assert_int_equal(row.count, count);
}

static void test_flash_forward(void **state) {
    (void)state;
    describe_flash(5);
    tide_run_launch row = launch(FORWARD(BF16, "0"), 3, 3, 10);
    is_of(row, 333, 1234, 64, 30);
    assert_int_equal(row.type, TIDE_RUN_BF16);
    assert_int_equal(row.flags, 0);
    /* queries and output, a sum of each row, and keys and values of half as many heads */
    assert_int_equal(row.bytes, 2 * 30 * 333 * 64 * 2 + 30 * 333 * 4 + 2 * 15 * 1234 * 64 * 2);
    assert_int_equal(launch(FORWARD(HALF, "0"), 3, 3, 10).type, TIDE_RUN_FP16);
}

static void test_flash_masks(void **state) {
    (void)state;
    describe_flash(10);
    /* query i of 333 sees the first 1234 - 332 + i keys: 1068 in the middle */
    is_of(launch(FORWARD(BF16, "1"), 3, 3, 10), 333, 1068, 64, 30);
    set(184, 333);
    set(200, 384);
    tide_run_launch row = launch(FORWARD(BF16, "1"), 3, 3, 10);
    is_of(row, 333, 333, 64, 30);
    assert_int_equal(row.flags, TIDE_RUN_CAUSAL);
    set(388, 100);
    set(392, 0);
    is_of(launch(LOCAL, 3, 3, 10), 333, 101, 64, 30);
}

static void test_flash_sequences(void **state) {
    (void)state;
    describe_flash(10);
    point(224);
    set(212, 500); /* queries of all three, of which the longest has 333 */
    tide_run_launch row = launch(FORWARD(BF16, "0"), 3, 3, 10);
    is_of(row, 333, 1234, 64, 20);
    assert_int_equal(row.flags, TIDE_RUN_ESTIMATED);
}

static void test_flash_parts(void **state) {
    (void)state;
    describe_flash(10);
    set(444, 5);
    tide_run_launch row = launch(PARTS, 6, 5, 30);
    is_of(row, 333, 1234, 64, 30);
    assert_int_equal(row.bytes, 30 * 333 * (64 * 2 + 5 * (64 + 1) * 4) + 2 * 30 * 1234 * 64 * 2);
    row = launch(JOIN, 1249, 1, 1);
    assert_int_equal(row.kind, TIDE_RUN_KERNEL);
    assert_int_equal(row.family, TIDE_RUN_ATTENTION_PARTS);
    assert_int_equal(row.bytes, 30 * 333 * (5 * (64 + 1) * 4 + 4 + 64 * 2));
}

static void test_flash_backward(void **state) {
    (void)state;
    enum { ACCUMULATED = 30 * 384 * 64 * 4 };
    describe_flash(5);
    tide_run_launch row = launch(BACKWARD, 10, 3, 10);
    is_of(row, 333, 1234, 64, 30);
    assert_int_equal(row.flags, TIDE_RUN_BACKWARD);
    assert_int_equal(row.bytes, 30 * 333 * (2 * 64 * 2 + 2 * 4) + 2 * ACCUMULATED +
                                    2 * 1234 * 64 * 2 * (15 + 30));
    row = launch(DOT, 3, 3, 10);
    assert_int_equal(row.family, TIDE_RUN_ATTENTION_PARTS);
    assert_int_equal(row.bytes, 30 * 333 * (2 * 64 * 2 + 4) + ACCUMULATED);
    row = launch(CONVERT, 3, 3, 10);
    assert_int_equal(row.bytes, ACCUMULATED + 30 * 333 * 64 * 2);
}

/* Another layout: the row is marked as a guess, and has no sizes. */
static void is_guessed(tide_run_launch row) {
    assert_int_equal(row.kind, TIDE_RUN_KERNEL);
    assert_int_equal(row.flags, TIDE_RUN_GUESSED);
    assert_int_equal(row.m, 0);
}

static void test_flash_layouts(void **state) {
    (void)state;
    static const size_t MEMBERS[] = {0, 96, 100, 104, 176, 180, 184, 192, 196, 200, 204};
    for (size_t i = 0; i < sizeof(MEMBERS) / sizeof(MEMBERS[0]); i++) {
        memset(parameters, 0, sizeof(parameters));
        describe_flash(5);
        memset(parameters + MEMBERS[i], 0, MEMBERS[i] == 0 ? sizeof(card) : sizeof(int));
        is_guessed(launch(FORWARD(BF16, "0"), 3, 3, 10));
        is_guessed(launch(BACKWARD, 10, 3, 10));
    }
    describe_flash(5);
    is_guessed(launch(PARTS, 6, 5, 30)); /* in no parts */
}

/* As above, values of 48 channels. */
static void describe_efficient(int mask) {
    point(0);
    set(96, 64);
    set(100, 48);
    set(104, 333);
    set(108, 1234);
    set(112, 1234);
    parameters[116] = (unsigned char)mask;
    set(192, 3);
    set(196, 10);
}

static void test_efficient_forward(void **state) {
    (void)state;
    enum { VALUES = 30 * (333 + 1234) * (64 + 48) };
    describe_efficient(0);
    tide_run_launch row = launch(EFFICIENT, 6, 10, 3);
    is_of(row, 333, 1234, 56, 30);
    assert_int_equal(row.type, TIDE_RUN_FP16);
    assert_int_equal(row.bytes, 2 * VALUES);
    point(24);    /* a bias, the same for all batches */
    set(132, 64); /* strides of queries and heads */
    set(152, 64);
    point(80); /* sums for a backward pass */
    row = launch(EFFICIENT, 6, 10, 3);
    assert_int_equal(row.bytes, 2 * (VALUES + 10 * 333 * 1234) + 30 * 333 * 4);
    describe_efficient(1);
    is_of(launch(EFFICIENT, 6, 10, 3), 333, 167, 56, 30); /* query i sees i + 1 keys */
    describe_efficient(2);
    is_of(launch(EFFICIENT, 6, 10, 3), 333, 1068, 56, 30);
    set(88, 100); /* a window */
    is_of(launch(EFFICIENT, 6, 10, 3), 333, 100, 56, 30);
    set(88, 0);
    point(32);
    assert_int_equal(launch(EFFICIENT, 6, 10, 3).flags & TIDE_RUN_ESTIMATED, TIDE_RUN_ESTIMATED);
    is_guessed(launch(EFFICIENT, 6, 3, 10));
    describe_efficient(3);
    is_guessed(launch(EFFICIENT, 6, 10, 3));
}

static void test_efficient_backward(void **state) {
    (void)state;
    point(0);
    set(144, 64);
    set(148, 48);
    set(152, 333);
    set(156, 1234);
    set(160, 10);
    set(164, 1);
    set(384, 3);
    tide_run_launch row = launch(EFFICIENT_BACKWARD, 20, 10, 3);
    is_of(row, 333, 1234, 56, 30);
    assert_int_equal(row.type, TIDE_RUN_FP32);
    assert_int_equal(row.flags, TIDE_RUN_BACKWARD);
    /* reads q, k, v, the output's gradient and two sums, writes the gradients of q, k, v */
    assert_int_equal(row.bytes,
                     4 * 30 * (333 * (64 + 48 + 64) + 2 * 1234 * (64 + 48)) + 30 * 333 * 2 * 4);
    point(112);
    assert_int_equal(launch(EFFICIENT_BACKWARD, 20, 10, 3).bytes - row.bytes,
                     30 * 333 * 2 * 64 * 4);
    is_guessed(launch(EFFICIENT_BACKWARD, 20, 9, 3));
}

static uint64_t pairs(uint64_t m, uint64_t n, tide_vc_mask mask) {
    tide_vc_attention of = {.n_queries = m, .n_keys = n, .mask = mask};
    return tide_vc_attention_pairs(&of);
}

/* Counted one by one. */
static void test_pairs(void **state) {
    (void)state;
    for (uint64_t m = 1; m < 9; m++) {
        for (uint64_t n = 1; n < 9; n++) {
            uint64_t top = 0;
            uint64_t bottom = 0;
            for (uint64_t i = 0; i < m; i++) {
                for (uint64_t j = 0; j < n; j++) {
                    top += j <= i;
                    bottom += j + m <= i + n;
                }
            }
            assert_int_equal(pairs(m, n, TIDE_VC_MASK_NONE), m * n);
            assert_int_equal(pairs(m, n, TIDE_VC_MASK_TOP_LEFT), top);
            assert_int_equal(pairs(m, n, TIDE_VC_MASK_BOTTOM_RIGHT), bottom);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, take_card, leave_card)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_flash_forward),     TEST(test_flash_masks),        TEST(test_flash_sequences),
        TEST(test_flash_parts),       TEST(test_flash_backward),     TEST(test_flash_layouts),
        TEST(test_efficient_forward), TEST(test_efficient_backward), cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
