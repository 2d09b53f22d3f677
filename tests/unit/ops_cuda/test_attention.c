/* test_attention.c - attention_flash.cu and attention_mma_*.cu compared with their cpu twin.
 *
 * Both sides read the same numbers; the backward pass reads what the cpu's forward pass wrote. Both
 * compute in fp32 and differ by the order of their sums, each of which is off by what
 * test_ops_attention.c of the cpu device derives: so twice that is allowed, of the largest number.
 *
 * Tensor cores take bf16 alone: they compute out from rounded probabilities, which moves it by at
 * most 2^-8 of the largest value, and that is about as large as the largest out, the first query's;
 * dv from rounded probabilities, and dq and dk from rounded dscores, which are sums of both signs
 * where single terms may be larger than the sum: 2 * 2^-8.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_emulator.h"
#include "model/bf16.h"
#include "model/fp16.h"
#include "twin.h"

#define FP32_ROUNDOFF 5.9604644775390625e-8
#define BF16_ROUNDOFF 0.00390625

typedef struct call_shape {
    tide_dtype dtype;  /* of all but lse and scratch */
    size_t B, T, H, D; /* as in ops.h */
    bool shifted;      /* arrays begin one element behind an aligned address */
} call_shape;

/* Below, on and above one tile of own tokens and of others. */
static const size_t TOKENS[] = {1, 17, 64, 65, 130};
/* Below, at and between the sizes that kernels are compiled for, with and without whole accesses.
 */
static const size_t CHANNELS[] = {10, 16, 64, 80, 128};

static size_t n_elements(const call_shape *s) {
    return s->B * s->T * s->H * s->D;
}

static size_t n_rows(const call_shape *s) {
    return s->B * s->H * s->T;
}

/* The error of an fp32 sum of n terms, rounded a few times more, as of a random walk. */
static double sum_error(size_t n, double roundings) {
    return FP32_ROUNDOFF * (sqrt((double)n) + roundings);
}

static bool on_tensor_cores(const call_shape *s) {
    return s->dtype == TIDE_BF16 && s->D % 8 == 0 && !s->shifted;
}

/* The tolerance of lse, whose sums are of unrounded probabilities. */
static double lse_tolerance(const call_shape *s) {
    return 2 * (sum_error(s->T, 8) + FP32_ROUNDOFF * 4 * sqrt((double)s->D));
}

static double forward_tolerance(const call_shape *s) {
    return lse_tolerance(s) + (on_tensor_cores(s) ? BF16_ROUNDOFF : 0);
}

static double backward_tolerance(const call_shape *s) {
    const double fp32 =
        8 * (sum_error(s->T, 8) + FP32_ROUNDOFF * 4 * sqrt((double)s->D) + sum_error(s->D, 4));
    return fp32 + (on_tensor_cores(s) ? 2 * BF16_ROUNDOFF : 0);
}

/* Arrays of a forward case, in order. */
enum { OUT, LSE, FORWARD_Q, FORWARD_K, FORWARD_V };

static tide_status forward(const twin_side *side, const void *shape, tide_error *error) {
    const call_shape *s = shape;
    const tide_attention_forward call = {.kind = TIDE_ATTENTION_FLASH,
                                         .out = side->arrays[OUT],
                                         .q = side->arrays[FORWARD_Q],
                                         .k = side->arrays[FORWARD_K],
                                         .v = side->arrays[FORWARD_V],
                                         .lse = twin_fp32(side, LSE),
                                         .B = s->B,
                                         .T = s->T,
                                         .H = s->H,
                                         .D = s->D};
    return TWIN(side, attention_forward)(side->ops, &call, error);
}

/* What a case compares. */
typedef enum compared { ALL, ONLY_LSE } compared;

static twin_case *forward_case(const call_shape *s, compared what) {
    twin_case *test = twin_begin("flash forward");
    twin_shift(test, s->shifted ? 1 : 0);
    (void)(what == ALL ? twin_written : twin_scratch)(test, s->dtype, n_elements(s));
    (void)twin_written(test, TIDE_FP32, n_rows(s));
    for (int i = 0; i < 3; i++) { /* q, k, v */
        (void)twin_read(test, s->dtype, n_elements(s), 2);
    }
    return test;
}

/* Arrays of a backward case, in order. */
enum { DQ, DK, DV, DOUT, Q, K, V, GIVEN_OUT, GIVEN_LSE, SCRATCH };

enum { MOST_OF_ONE_TOKEN = 512 }; /* elements; B H D of the cases below */

/* One key: its probability is 1 whatever q and k are, and dq and dk are 0 but for rounding: dP and
 * delta are sums of D products of at most 2, each off by sqrt(D) roundings of at most 2 D; q and k
 * are at most 2. */
static void assert_no_gradient(const twin_side *side, const call_shape *s, size_t gradient) {
    const size_t n = n_elements(s);
    float wide[MOST_OF_ONE_TOKEN];
    uint16_t narrow[MOST_OF_ONE_TOKEN];
    const bool is_wide = s->dtype == TIDE_FP32;
    assert_true(n <= MOST_OF_ONE_TOKEN);
    twin_load(side, gradient, is_wide ? (void *)wide : narrow, n * tide_dtype_bytes(s->dtype));
    const double bound = 2 * sum_error(s->D, 4) * 2 * (double)s->D * 2 / sqrt((double)s->D);
    for (size_t i = 0; i < n; i++) {
        const double x = is_wide ? (double)wide[i] : (double)tide_bf16_to_fp32(narrow[i]);
        if (!(fabs(x) <= bound)) {
            fail_msg("flash backward, one token, D %zu: %.3g instead of 0", s->D, x);
        }
    }
}

static tide_status backward(const twin_side *side, const void *shape, tide_error *error) {
    const call_shape *s = shape;
    const tide_attention_backward call = {.kind = TIDE_ATTENTION_FLASH,
                                          .dq = side->arrays[DQ],
                                          .dk = side->arrays[DK],
                                          .dv = side->arrays[DV],
                                          .dout = side->arrays[DOUT],
                                          .out = side->arrays[GIVEN_OUT],
                                          .q = side->arrays[Q],
                                          .k = side->arrays[K],
                                          .v = side->arrays[V],
                                          .lse = twin_fp32(side, GIVEN_LSE),
                                          .scratch = twin_fp32(side, SCRATCH),
                                          .B = s->B,
                                          .T = s->T,
                                          .H = s->H,
                                          .D = s->D};
    TIDE_TRY(TWIN(side, attention_backward)(side->ops, &call, error));
    if (s->T == 1) {
        assert_no_gradient(side, s, DQ);
        assert_no_gradient(side, s, DK);
    }
    return TIDE_OK;
}

/* n numbers in [-2, 2), each one of the type's. */
static float *numbers(tide_dtype dtype, size_t n, unsigned seed) {
    float *x = malloc(n * sizeof(*x));
    assert_non_null(x);
    uint32_t state = seed;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525U + 1013904223U;
        x[i] = (float)(state >> 8) * 0x1p-22F - 2;
        x[i] = dtype == TIDE_BF16   ? tide_bf16_to_fp32(tide_fp32_to_bf16(x[i]))
               : dtype == TIDE_FP16 ? tide_fp16_to_fp32(tide_fp32_to_fp16(x[i]))
                                    : x[i];
    }
    return x;
}

/* What the cpu's forward pass gives, in fp32, for the same q, k, v. */
static void forward_on_cpu(const call_shape *s, float *const inputs[3], float *out, float *lse) {
    tide_device *device = NULL;
    tide_ops *cpu = NULL;
    assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(
        tide_ops_cpu_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &cpu, NULL),
        TIDE_OK);
    const tide_attention_forward call = {.kind = TIDE_ATTENTION_FLASH,
                                         .out = {out, TIDE_FP32},
                                         .q = {inputs[0], TIDE_FP32},
                                         .k = {inputs[1], TIDE_FP32},
                                         .v = {inputs[2], TIDE_FP32},
                                         .lse = lse,
                                         .B = s->B,
                                         .T = s->T,
                                         .H = s->H,
                                         .D = s->D};
    assert_int_equal(tide_cpu_attention_forward(cpu, &call, NULL), TIDE_OK);
    tide_ops_close(cpu);
    tide_device_close(device);
}

/* inputs: q, k, v, each of the type's numbers. */
static twin_case *backward_case_of(const call_shape *s, float *const inputs[3]) {
    const size_t n = n_elements(s);
    float *out = malloc(n * sizeof(*out));
    float *lse = malloc(n_rows(s) * sizeof(*lse));
    assert_true(out != NULL && lse != NULL);
    forward_on_cpu(s, inputs, out, lse);
    twin_case *test = twin_begin("flash backward");
    twin_shift(test, s->shifted ? 1 : 0);
    for (size_t i = DQ; i <= DV; i++) {
        const bool is_zero = s->T == 1 && i < DV; /* see assert_no_gradient */
        (void)(is_zero ? twin_scratch : twin_written)(test, s->dtype, n);
    }
    (void)twin_read(test, s->dtype, n, 1);
    for (int i = 0; i < 3; i++) {
        (void)twin_given(test, s->dtype, inputs[i], n);
    }
    (void)twin_given(test, s->dtype, out, n);
    (void)twin_given(test, TIDE_FP32, lse, n_rows(s));
    (void)twin_scratch(test, TIDE_FP32, n_rows(s));
    free(out);
    free(lse);
    return test;
}

static twin_case *backward_case(const call_shape *s) {
    float *inputs[3];
    for (unsigned i = 0; i < 3; i++) {
        inputs[i] = numbers(s->dtype, n_elements(s), i + 1);
    }
    twin_case *test = backward_case_of(s, inputs);
    for (int i = 0; i < 3; i++) {
        free(inputs[i]);
    }
    return test;
}

static call_shape shape_at(tide_dtype dtype, size_t i) {
    const size_t n_channels = sizeof(CHANNELS) / sizeof(CHANNELS[0]);
    return (call_shape){
        dtype, 1 + i % 2, TOKENS[i / n_channels], 2 - i % 2, CHANNELS[i % n_channels], false};
}

static const size_t N_SHAPES =
    sizeof(TOKENS) / sizeof(TOKENS[0]) * (sizeof(CHANNELS) / sizeof(CHANNELS[0]));

/* Under the race detector, which is slow, only every third shape runs. */
static size_t shape_step(void) {
    return tide_emulator_detects_races() ? 3 : 1;
}

static void check_shape(call_shape s) {
    twin_check(forward_case(&s, ALL), forward, &s, forward_tolerance(&s));
    if (on_tensor_cores(&s)) {
        twin_check(forward_case(&s, ONLY_LSE), forward, &s, lse_tolerance(&s));
    }
    twin_check(backward_case(&s), backward, &s, backward_tolerance(&s));
}

static void check_flash(tide_dtype dtype) {
    for (size_t i = 0; i < N_SHAPES; i += shape_step()) {
        check_shape(shape_at(dtype, i));
    }
}

static void flash_fp32_matches_its_twin(void **state) {
    (void)state;
    check_flash(TIDE_FP32);
}

/* Not on tensor cores: a few shapes of few and many tokens. */
static void flash_fp16_matches_its_twin(void **state) {
    (void)state;
    for (size_t i = 1; i < N_SHAPES; i += 7) {
        const call_shape s = shape_at(TIDE_FP16, i);
        if (s.T > 1) { /* of one token the test of its gradients reads bf16 */
            check_shape(s);
        }
    }
}

static void flash_bf16_matches_its_twin(void **state) {
    (void)state;
    check_flash(TIDE_BF16);
}

/* Tiles that are neither first nor last on either side of the diagonal, and channels of every size
 * that kernels are compiled for, with some to spare. */
static void long_rows_and_odd_channels_match(void **state) {
    (void)state;
    check_shape((call_shape){TIDE_FP32, 1, 270, 1, 6, false});
    check_shape((call_shape){TIDE_BF16, 1, 270, 1, 24, false});
    check_shape((call_shape){TIDE_FP32, 1, 70, 2, 67, false});
    check_shape((call_shape){TIDE_BF16, 1, 70, 2, 72, false});
    check_shape((call_shape){TIDE_FP32, 2, 40, 1, 90, false});
    check_shape((call_shape){TIDE_BF16, 2, 40, 1, 104, false});
}

/* Arrays that begin at odd elements, which must be accessed element by element. */
static void unaligned_arrays_are_read_by_element(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const call_shape s = {i == 0 ? TIDE_FP32 : TIDE_BF16, 2, 35, 2, 16, true};
        check_shape(s);
    }
}

static tide_status exchanged_keys(const twin_side *side, const void *shape, tide_error *error) {
    const twin_side other = twin_exchanged(side, FORWARD_K, FORWARD_V);
    return forward(&other, shape, error);
}

static tide_status exchanged_gradients(const twin_side *side, const void *shape,
                                       tide_error *error) {
    const twin_side other = twin_exchanged(side, DQ, DK);
    return backward(&other, shape, error);
}

static void exchanged_operands_are_seen(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const call_shape s = {i == 0 ? TIDE_FP32 : TIDE_BF16, 1, 17, 1, 16, false};
        twin_reject(forward_case(&s, ALL), exchanged_keys, &s, forward_tolerance(&s));
        twin_reject(backward_case(&s), exchanged_gradients, &s, backward_tolerance(&s));
    }
}

static tide_status forward_without_lse(const twin_side *side, const void *shape,
                                       tide_error *error) {
    twin_side other = *side;
    other.arrays[LSE].data = NULL;
    return forward(&other, shape, error);
}

/* Both sides leave lse untouched and write the same out. */
static void lse_is_optional(void **state) {
    (void)state;
    const call_shape s = {TIDE_FP32, 1, 33, 1, 10, false};
    twin_check(forward_case(&s, ALL), forward_without_lse, &s, forward_tolerance(&s));
}

/* Key s has the score 64 sqrt(D) s, or, falling, 64 sqrt(D) (T - 1 - s): the maximum moves in every
 * tile, or stays in the first. */
static void check_large_scores(tide_dtype dtype, size_t D, bool falling) {
    const call_shape s = {dtype, 1, 130, 1, D, false};
    float *q = numbers(dtype, n_elements(&s), 1);
    float *k = numbers(dtype, n_elements(&s), 1);
    for (size_t i = 0; i < n_elements(&s); i++) {
        q[i] = 8;
        k[i] = 8 * (float)(falling ? s.T - 1 - i / s.D : i / s.D);
    }
    twin_case *test = twin_begin("flash forward, large scores");
    (void)twin_written(test, dtype, n_elements(&s));
    (void)twin_written(test, TIDE_FP32, n_rows(&s));
    (void)twin_given(test, dtype, q, n_elements(&s));
    (void)twin_given(test, dtype, k, n_elements(&s));
    (void)twin_read(test, dtype, n_elements(&s), 1);
    twin_check(test, forward, &s, forward_tolerance(&s));
    free(q);
    free(k);
}

static void large_scores_do_not_overflow(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        check_large_scores(TIDE_FP32, 4, i == 1);
        check_large_scores(TIDE_BF16, 4, i == 1);
        check_large_scores(TIDE_BF16, 16, i == 1); /* on tensor cores */
    }
}

/* Half of the channels add -80 to the scores of the first 65 keys and 80 to those of the others:
 * what the first queries must not see is e^160 times what they see, more than fp32 holds, and to be
 * left out, not multiplied by 0. */
static void hidden_scores_may_overflow(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const call_shape s = {i == 0 ? TIDE_FP32 : TIDE_BF16, 1, 130, 1, 16, false};
        float *inputs[3];
        for (unsigned j = 0; j < 3; j++) {
            inputs[j] = numbers(s.dtype, n_elements(&s), j + 1);
        }
        for (size_t j = 0; j < n_elements(&s); j++) {
            if (j % s.D < 8) { /* 8 * 40 / sqrt(16) */
                inputs[0][j] = 40;
                inputs[1][j] = j / s.D < 65 ? -1 : 1;
            }
        }
        twin_check(backward_case_of(&s, inputs), backward, &s, backward_tolerance(&s));
        for (int j = 0; j < 3; j++) {
            free(inputs[j]);
        }
    }
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
        cmocka_unit_test(long_rows_and_odd_channels_match),
        cmocka_unit_test(unaligned_arrays_are_read_by_element),
        cmocka_unit_test(exchanged_operands_are_seen),
        cmocka_unit_test(lse_is_optional),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(hidden_scores_may_overflow),
        cmocka_unit_test(what_cannot_be_computed_is_refused),
        cmocka_unit_test(nothing_is_a_result),
    };
    return cmocka_run_group_tests_name("ops_cuda.attention", tests, NULL, NULL);
}
