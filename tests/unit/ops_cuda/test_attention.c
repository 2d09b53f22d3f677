/* test_attention.c - attention_flash.cu and attention_mma_*.cu compared with their cpu twin;
 * tolerances are in flash_case.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_emulator.h"
#include "flash_case.h"

/* Below, on and above one tile of own tokens and of others. */
static const size_t TOKENS[] = {1, 17, 64, 65, 130};
/* Below, at and between the sizes that kernels are compiled for, with and without whole accesses.
 */
static const size_t CHANNELS[] = {10, 16, 64, 80, 128};

static flash_shape shape_at(tide_dtype dtype, size_t i) {
    const size_t n_channels = sizeof(CHANNELS) / sizeof(CHANNELS[0]);
    return (flash_shape){
        dtype, 1 + i % 2, TOKENS[i / n_channels], 2 - i % 2, CHANNELS[i % n_channels], FLASH_PLAIN};
}

/* The three kinds of arithmetic. */
static const flash_shape KINDS[] = {{TIDE_FP32, 0, 0, 0, 0, FLASH_PLAIN},
                                    {TIDE_BF16, 0, 0, 0, 0, FLASH_PLAIN},
                                    {TIDE_FP32, 0, 0, 0, 0, FLASH_IN_TF32}};
enum { N_KINDS = sizeof(KINDS) / sizeof(KINDS[0]) };

static const size_t N_SHAPES =
    sizeof(TOKENS) / sizeof(TOKENS[0]) * (sizeof(CHANNELS) / sizeof(CHANNELS[0]));

/* Under the race detector, which is slow, only every third shape runs. */
static size_t shape_step(void) {
    return tide_emulator_detects_races() ? 3 : 1;
}

static void check_shape(flash_shape s) {
    twin_check(flash_forward_case(&s, ALL), flash_forward, &s, flash_forward_tolerance(&s));
    if (flash_operand_error(&s) > 0) {
        twin_check(flash_forward_case(&s, ONLY_LSE), flash_forward, &s, flash_lse_tolerance(&s));
    }
    twin_check(flash_backward_case(&s), flash_backward, &s, flash_backward_tolerance(&s));
}

static void check_flash(tide_dtype dtype, flash_way way) {
    for (size_t i = 0; i < N_SHAPES; i += shape_step()) {
        flash_shape s = shape_at(dtype, i);
        s.way = way;
        check_shape(s);
    }
}

static void flash_fp32_matches_its_twin(void **state) {
    (void)state;
    check_flash(TIDE_FP32, FLASH_PLAIN);
}

/* Not on tensor cores: a few shapes with few and many tokens. */
static void flash_fp16_matches_its_twin(void **state) {
    (void)state;
    for (size_t i = 1; i < N_SHAPES; i += 7) {
        const flash_shape s = shape_at(TIDE_FP16, i);
        if (s.T > 1) { /* of one token the test of its gradients reads bf16 */
            check_shape(s);
        }
    }
}

static void flash_bf16_matches_its_twin(void **state) {
    (void)state;
    check_flash(TIDE_BF16, FLASH_PLAIN);
}

static void flash_tf32_matches_its_twin(void **state) {
    (void)state;
    check_flash(TIDE_FP32, FLASH_IN_TF32);
}

/* Tiles that are neither first nor last on either side of the diagonal, and channels of every size
 * that kernels are compiled for, with some to spare. */
static void long_rows_and_odd_channels_match(void **state) {
    (void)state;
    check_shape((flash_shape){TIDE_FP32, 1, 270, 1, 6, FLASH_PLAIN});
    check_shape((flash_shape){TIDE_BF16, 1, 270, 1, 24, FLASH_PLAIN});
    check_shape((flash_shape){TIDE_FP32, 1, 70, 2, 67, FLASH_PLAIN});
    check_shape((flash_shape){TIDE_BF16, 1, 70, 2, 72, FLASH_PLAIN});
    check_shape((flash_shape){TIDE_FP32, 2, 40, 1, 90, FLASH_PLAIN});
    check_shape((flash_shape){TIDE_BF16, 2, 40, 1, 104, FLASH_PLAIN});
    check_shape((flash_shape){TIDE_FP32, 1, 270, 1, 20, FLASH_IN_TF32});
    check_shape((flash_shape){TIDE_FP32, 1, 70, 2, 68, FLASH_IN_TF32});
    check_shape((flash_shape){TIDE_FP32, 2, 40, 1, 100, FLASH_IN_TF32});
}

/* Arrays that begin at odd elements, which must be accessed element by element. */
static void unaligned_arrays_are_read_by_element(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const flash_shape s = {i == 0 ? TIDE_FP32 : TIDE_BF16, 2, 35, 2, 16, FLASH_SHIFTED};
        check_shape(s);
    }
}

static tide_status exchanged_keys(const twin_side *side, const void *shape, tide_error *error) {
    const twin_side other = twin_exchanged(side, FORWARD_K, FORWARD_V);
    return flash_forward(&other, shape, error);
}

static tide_status exchanged_gradients(const twin_side *side, const void *shape,
                                       tide_error *error) {
    const twin_side other = twin_exchanged(side, DQ, DK);
    return flash_backward(&other, shape, error);
}

static void exchanged_operands_are_seen(void **state) {
    (void)state;
    for (int i = 0; i < N_KINDS; i++) {
        const flash_shape s = {KINDS[i].dtype, 1, 17, 1, 16, KINDS[i].way};
        twin_reject(flash_forward_case(&s, ALL), exchanged_keys, &s, flash_forward_tolerance(&s));
        twin_reject(flash_backward_case(&s), exchanged_gradients, &s, flash_backward_tolerance(&s));
    }
}

static tide_status forward_without_lse(const twin_side *side, const void *shape,
                                       tide_error *error) {
    twin_side other = *side;
    other.arrays[LSE].data = NULL;
    return flash_forward(&other, shape, error);
}

/* Both sides leave lse untouched and write the same out. */
static void lse_is_optional(void **state) {
    (void)state;
    const flash_shape s = {TIDE_FP32, 1, 33, 1, 10, FLASH_PLAIN};
    twin_check(flash_forward_case(&s, ALL), forward_without_lse, &s, flash_forward_tolerance(&s));
}

/* Key s has the score 64 sqrt(D) s, or, falling, 64 sqrt(D) (T - 1 - s): the maximum moves in every
 * tile, or stays in the first. */
static void check_large_scores(tide_dtype dtype, flash_way way, size_t D, bool falling) {
    const flash_shape s = {dtype, 1, 130, 1, D, way};
    float *q = flash_numbers(dtype, flash_n_elements(&s), 1);
    float *k = flash_numbers(dtype, flash_n_elements(&s), 1);
    for (size_t i = 0; i < flash_n_elements(&s); i++) {
        q[i] = 8;
        k[i] = 8 * (float)(falling ? s.T - 1 - i / s.D : i / s.D);
    }
    twin_case *test = flash_begin(&s, "flash forward, large scores");
    (void)twin_written(test, dtype, flash_n_elements(&s));
    (void)twin_written(test, TIDE_FP32, flash_n_rows(&s));
    (void)twin_given(test, dtype, q, flash_n_elements(&s));
    (void)twin_given(test, dtype, k, flash_n_elements(&s));
    (void)twin_read(test, dtype, flash_n_elements(&s), 1);
    twin_check(test, flash_forward, &s, flash_forward_tolerance(&s));
    free(q);
    free(k);
}

static void large_scores_do_not_overflow(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        check_large_scores(TIDE_FP32, FLASH_PLAIN, 4, i == 1);
        check_large_scores(TIDE_BF16, FLASH_PLAIN, 4, i == 1);
        check_large_scores(TIDE_BF16, FLASH_PLAIN, 16, i == 1); /* on tensor cores */
        check_large_scores(TIDE_FP32, FLASH_IN_TF32, 4, i == 1);
    }
}

/* Half of the channels add -80 to the scores of the first 65 keys and 80 to those of the others:
 * the masked part of the first queries is e^160 times the visible part, more than fp32 can
 * represent, so it must be skipped, not multiplied by 0. */
static void hidden_scores_may_overflow(void **state) {
    (void)state;
    for (int i = 0; i < N_KINDS; i++) {
        const flash_shape s = {KINDS[i].dtype, 1, 130, 1, 16, KINDS[i].way};
        flash_inputs inputs = flash_make_inputs(&s);
        for (size_t j = 0; j < flash_n_elements(&s); j++) {
            if (j % s.D < 8) { /* 8 * 40 / sqrt(16) */
                inputs.x[1][j] = 40;
                inputs.x[2][j] = j / s.D < 65 ? -1 : 1;
            }
        }
        twin_check(flash_backward_case_of(&s, inputs), flash_backward, &s,
                   flash_backward_tolerance(&s));
    }
}

/* Of one token whose q and k are 0, P is 1: out is v and dv is dout, each rounded to TF32, to the
 * bit. 2^-11 is half of the last place of 1. */
static void one_token_shows_what_is_rounded(void **state) {
    (void)state;
    static const float NUMBERS[] = {
        1 + 0x1p-11F, -1 - 0x1p-11F, 1 + 0x3p-11F, 1 + 0x1p-11F - 0x1p-23F,
        2 - 0x1p-23F, 0x3.00Fp-20F,  -0x1.FFEp9F,  0x1.554p0F};
    const flash_shape s = {TIDE_FP32, 1, 1, 1, sizeof(NUMBERS) / sizeof(NUMBERS[0]), FLASH_IN_TF32};
    flash_inputs inputs = flash_make_inputs(&s);
    memcpy(inputs.x[0], NUMBERS, sizeof(NUMBERS));
    memset(inputs.x[1], 0, sizeof(NUMBERS));
    memset(inputs.x[2], 0, sizeof(NUMBERS));
    memcpy(inputs.x[3], NUMBERS, sizeof(NUMBERS));
    twin_case *test = flash_begin(&s, "flash forward, one token");
    (void)twin_written(test, s.dtype, flash_n_elements(&s));
    (void)twin_written(test, TIDE_FP32, flash_n_rows(&s));
    for (int i = 1; i < 4; i++) {
        (void)twin_given(test, s.dtype, inputs.x[i], flash_n_elements(&s));
    }
    twin_check(test, flash_forward, &s, 0);
    twin_check(flash_backward_case_of(&s, inputs), flash_backward, &s, 0);
}

static void assert_refused(tide_status want, const char *text, const tide_attention_forward *call) {
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_error error = {.message = ""};
    assert_int_equal(tide_cuda_attention_forward(&cuda.ops, call, &error), want);
    assert_non_null(strstr(error.message, text));
}

static void what_cannot_be_computed_is_refused(void **state) {
    (void)state;
    tide_attention_forward call = {.kind = TIDE_ATTENTION_FLASH, .B = 1, .T = 2, .H = 1, .D = 129};
    assert_refused(TIDE_UNSUPPORTED, "up to 128 channels, these have 129", &call);
    call.D = 16;
    call.T = (size_t)1 << 31;
    assert_refused(TIDE_LIMIT, "context 2147483648", &call);
    call.T = (size_t)1 << 30;
    call.B = 3;
    assert_refused(TIDE_LIMIT, "3 sequences of 1 heads", &call);
    call.v.dtype = TIDE_BF16;
    assert_refused(TIDE_UNSUPPORTED, "attention: array 4 of 4", &call);
}

/* No tokens: nothing is launched. */
static void nothing_is_a_result(void **state) {
    (void)state;
    tide_ops_cuda cuda = {.max_blocks = 1};
    const tide_attention_forward empty = {.kind = TIDE_ATTENTION_FLASH, .B = 1, .H = 1, .D = 16};
    const tide_attention_backward none = {.kind = TIDE_ATTENTION_FLASH, .T = 1, .H = 1, .D = 16};
    assert_int_equal(tide_cuda_attention_forward(&cuda.ops, &empty, NULL), TIDE_OK);
    assert_int_equal(tide_cuda_attention_backward(&cuda.ops, &none, NULL), TIDE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_fp32_matches_its_twin),
        cmocka_unit_test(flash_bf16_matches_its_twin),
        cmocka_unit_test(flash_fp16_matches_its_twin),
        cmocka_unit_test(flash_tf32_matches_its_twin),
        cmocka_unit_test(long_rows_and_odd_channels_match),
        cmocka_unit_test(unaligned_arrays_are_read_by_element),
        cmocka_unit_test(exchanged_operands_are_seen),
        cmocka_unit_test(lse_is_optional),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(hidden_scores_may_overflow),
        cmocka_unit_test(one_token_shows_what_is_rounded),
        cmocka_unit_test(what_cannot_be_computed_is_refused),
        cmocka_unit_test(nothing_is_a_result),
    };
    return cmocka_run_group_tests_name("ops_cuda.attention", tests, NULL, NULL);
}
