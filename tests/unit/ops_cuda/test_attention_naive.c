/* test_attention_naive.c - attention_naive.c and attention_softmax.cu compared with their twins,
 * with plain loops in place of cuBLAS.
 *
 * Tolerances as in test_attention.c. In bf16 a score is rounded before softmax sees it, and where
 * fp32 noise decides, the two sides may round differently. Scores have a standard deviation of 4/3
 * here, so three of them are within 4, where bf16 numbers are 2^-6 apart. A probability may differ
 * by that share of itself; twice the tolerance is allowed: 2 * 2^-8. dscores are made of dprobs
 * that were rounded before, likewise: 2 * 2^-8. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_emulator.h"
#include "model/bf16.h"
#include "recorder/recorder.h"
#include "twin.h"

#define FP32_ROUNDOFF 5.9604644775390625e-8
#define BF16_ROUNDOFF 0.00390625

typedef struct call_shape {
    tide_dtype dtype;  /* of all arrays */
    size_t B, T, H, D; /* as in ops.h */
} call_shape;

/* Rows of one element, of whole packs and of none; a warp and more of packs. */
static const call_shape SHAPES[] = {{TIDE_FP32, 3, 1, 2, 10},   {TIDE_FP32, 2, 17, 2, 16},
                                    {TIDE_FP32, 1, 64, 1, 80},  {TIDE_FP32, 1, 130, 2, 16},
                                    {TIDE_FP32, 1, 300, 1, 4},  {TIDE_BF16, 3, 1, 2, 10},
                                    {TIDE_BF16, 2, 17, 2, 16},  {TIDE_BF16, 1, 64, 1, 80},
                                    {TIDE_BF16, 1, 130, 2, 16}, {TIDE_BF16, 1, 296, 1, 4}};
enum { N_SHAPES = sizeof(SHAPES) / sizeof(SHAPES[0]) };

static size_t n_elements(const call_shape *s) {
    return s->B * s->T * s->H * s->D;
}

static size_t n_scores(const call_shape *s) {
    return s->B * s->H * s->T * s->T;
}

/* The error of an fp32 sum of n terms, rounded a few times more, as of a random walk. */
static double sum_error(size_t n, double roundings) {
    return FP32_ROUNDOFF * (sqrt((double)n) + roundings);
}

static double forward_tolerance(const call_shape *s) {
    const double fp32 = 2 * (sum_error(s->T, 8) + FP32_ROUNDOFF * 4 * sqrt((double)s->D));
    return s->dtype == TIDE_FP32 ? fp32 : fp32 + 2 * BF16_ROUNDOFF;
}

static double backward_tolerance(const call_shape *s) {
    const double fp32 = 8 * (sum_error(s->T, 8) + 2 * sum_error(s->D, 4));
    return s->dtype == TIDE_FP32 ? fp32 : fp32 + 2 * BF16_ROUNDOFF;
}

/* ---- cuBLAS' part, by plain loops ---- */

/* A column-major matrix of the device, and a copy of it on the host. */
typedef struct matrix {
    void *on_device;    /* borrowed */
    int type;           /* TIDE_CUBLAS_R_... */
    size_t n_rows, ld;  /* from element to element of a row: ld */
    size_t n_columns;   /* as stored */
    unsigned char *own; /* owned; the copy */
} matrix;

static size_t bytes_of(const matrix *x) {
    return ((x->n_columns - 1) * x->ld + x->n_rows) * (x->type == TIDE_CUBLAS_R_32F ? 4 : 2);
}

static matrix copy_of(const void *on_device, int type, int ld, int n_rows, int n_columns) {
    matrix made = {
        .type = type, .n_rows = (size_t)n_rows, .ld = (size_t)ld, .n_columns = (size_t)n_columns};
    memcpy(&made.on_device, &on_device, sizeof(on_device)); /* not const for the result */
    made.own = malloc(bytes_of(&made));
    assert_non_null(made.own);
    tide_emulator_read(made.own, on_device, bytes_of(&made));
    return made;
}

static float number(const matrix *x, int row, int column) {
    const size_t i = (size_t)row + (size_t)column * x->ld;
    return x->type == TIDE_CUBLAS_R_32F
               ? ((const float *)(const void *)x->own)[i]
               : tide_bf16_to_fp32(((const uint16_t *)(const void *)x->own)[i]);
}

static void put(const matrix *x, int row, int column, float value) {
    const size_t i = (size_t)row + (size_t)column * x->ld;
    if (x->type == TIDE_CUBLAS_R_32F) {
        ((float *)(void *)x->own)[i] = value;
    } else {
        ((uint16_t *)(void *)x->own)[i] = tide_fp32_to_bf16(value);
    }
}

/* Column-major, as cuBLAS' own. */
static int gemm_ex(struct cublasContext *handle, int op_a, int op_b, int m, int n, int k,
                   const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b,
                   int ldb, const void *beta, void *c, int type_c, int ldc, int compute_type,
                   int algorithm) {
    (void)handle;
    (void)compute_type;
    (void)algorithm;
    assert_true(*(const float *)beta == 0);
    const bool as_is_a = op_a == TIDE_CUBLAS_OP_N;
    const bool as_is_b = op_b == TIDE_CUBLAS_OP_N;
    const matrix left = copy_of(a, type_a, lda, as_is_a ? m : k, as_is_a ? k : m);
    const matrix right = copy_of(b, type_b, ldb, as_is_b ? k : n, as_is_b ? n : k);
    const matrix out = copy_of(c, type_c, ldc, m, n);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int p = 0; p < k; p++) {
                sum += (double)(as_is_a ? number(&left, i, p) : number(&left, p, i)) *
                       (double)(as_is_b ? number(&right, p, j) : number(&right, j, p));
            }
            put(&out, i, j, *(const float *)alpha * (float)sum);
        }
    }
    tide_emulator_write(out.on_device, out.own, bytes_of(&out));
    free(left.own);
    free(right.own);
    free(out.own);
    return 0;
}

static const void *moved(const void *x, int type, long long n_elements_on) {
    return (const char *)x + n_elements_on * (type == TIDE_CUBLAS_R_32F ? 4 : 2);
}

static int gemm_strided_batched_ex(struct cublasContext *handle, int op_a, int op_b, int m, int n,
                                   int k, const void *alpha, const void *a, int type_a, int lda,
                                   long long stride_a, const void *b, int type_b, int ldb,
                                   long long stride_b, const void *beta, void *c, int type_c,
                                   int ldc, long long stride_c, int n_batches, int compute_type,
                                   int algorithm) {
    for (int i = 0; i < n_batches; i++) {
        char *batch = (char *)c + i * stride_c * (type_c == TIDE_CUBLAS_R_32F ? 4 : 2);
        (void)gemm_ex(handle, op_a, op_b, m, n, k, alpha, moved(a, type_a, i * stride_a), type_a,
                      lda, moved(b, type_b, i * stride_b), type_b, ldb, beta, batch, type_c, ldc,
                      compute_type, algorithm);
    }
    return 0;
}

/* The side's operators, those of cuda with these products. */
typedef struct side_ops {
    tide_ops_cuda cuda;
    tide_ops *ops; /* `cuda`, or the cpu's */
} side_ops;

static void use_loops(const twin_side *side, side_ops *made, tide_recorder *recorder) {
    made->ops = side->ops;
    made->ops->recorder = recorder;
    if (side->is_cuda) {
        made->cuda = *tide_ops_cuda_of(side->ops);
        made->cuda.cublas.gemm_ex = gemm_ex;
        made->cuda.cublas.gemm_strided_batched_ex = gemm_strided_batched_ex;
        made->ops = &made->cuda.ops;
    }
}

/* ---- cases ---- */

enum { OUT, PROBS, FORWARD_Q, FORWARD_K, FORWARD_V };

static tide_status record_forward(const twin_side *side, const void *shape, tide_recorder *recorder,
                                  tide_error *error) {
    const call_shape *s = shape;
    side_ops made;
    use_loops(side, &made, recorder);
    const tide_attention_forward call = {.kind = TIDE_ATTENTION_NAIVE,
                                         .out = side->arrays[OUT],
                                         .q = side->arrays[FORWARD_Q],
                                         .k = side->arrays[FORWARD_K],
                                         .v = side->arrays[FORWARD_V],
                                         .probs = side->arrays[PROBS],
                                         .B = s->B,
                                         .T = s->T,
                                         .H = s->H,
                                         .D = s->D};
    return TWIN(side, attention_forward)(made.ops, &call, error);
}

static tide_status forward(const twin_side *side, const void *shape, tide_error *error) {
    return record_forward(side, shape, NULL, error);
}

static twin_case *forward_case(const call_shape *s) {
    twin_case *test = twin_begin("naive forward");
    (void)twin_written(test, s->dtype, n_elements(s));
    (void)twin_written(test, s->dtype, n_scores(s));
    for (int i = 0; i < 3; i++) {
        (void)twin_read(test, s->dtype, n_elements(s), 2);
    }
    return test;
}

enum { DQ, DK, DV, DOUT, Q, K, V, GIVEN_PROBS, DPROBS };

static tide_status record_backward(const twin_side *side, const void *shape,
                                   tide_recorder *recorder, tide_error *error) {
    const call_shape *s = shape;
    side_ops made;
    use_loops(side, &made, recorder);
    const tide_attention_backward call = {.kind = TIDE_ATTENTION_NAIVE,
                                          .dq = side->arrays[DQ],
                                          .dk = side->arrays[DK],
                                          .dv = side->arrays[DV],
                                          .dout = side->arrays[DOUT],
                                          .q = side->arrays[Q],
                                          .k = side->arrays[K],
                                          .v = side->arrays[V],
                                          .probs = side->arrays[GIVEN_PROBS],
                                          .dprobs = side->arrays[DPROBS],
                                          .B = s->B,
                                          .T = s->T,
                                          .H = s->H,
                                          .D = s->D};
    return TWIN(side, attention_backward)(made.ops, &call, error);
}

static tide_status backward(const twin_side *side, const void *shape, tide_error *error) {
    return record_backward(side, shape, NULL, error);
}

/* Rows that sum to 1 up to the diagonal, and 0 beyond. */
static float *random_probs(const call_shape *s) {
    float *probs = calloc(n_scores(s), sizeof(*probs));
    assert_non_null(probs);
    uint32_t state = 1;
    for (size_t row = 0; row < s->B * s->H * s->T; row++) {
        float sum = 0;
        for (size_t i = 0; i <= row % s->T; i++) {
            state = state * 1664525U + 1013904223U;
            probs[row * s->T + i] = (float)(state >> 8);
            sum += probs[row * s->T + i];
        }
        for (size_t i = 0; i <= row % s->T; i++) {
            probs[row * s->T + i] /= sum;
        }
    }
    return probs;
}

static twin_case *backward_case(const call_shape *s) {
    float *probs = random_probs(s);
    twin_case *test = twin_begin("naive backward");
    for (size_t i = DQ; i <= DV; i++) {
        /* With a single token dscores, and so dq and dk, consist only of rounding errors. */
        const bool is_zero = s->T == 1 && i < DV;
        (void)(is_zero ? twin_scratch : twin_written)(test, s->dtype, n_elements(s));
    }
    (void)twin_read(test, s->dtype, n_elements(s), 1);
    for (int i = 0; i < 3; i++) {
        (void)twin_read(test, s->dtype, n_elements(s), 2);
    }
    (void)twin_given(test, s->dtype, probs, n_scores(s));
    (void)twin_scratch(test, s->dtype, n_scores(s));
    free(probs);
    return test;
}

static void forward_matches_its_twin(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        twin_check(forward_case(&SHAPES[i]), forward, &SHAPES[i], forward_tolerance(&SHAPES[i]));
    }
}

static void backward_matches_its_twin(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        twin_check(backward_case(&SHAPES[i]), backward, &SHAPES[i], backward_tolerance(&SHAPES[i]));
    }
}

static tide_status exchanged_keys(const twin_side *side, const void *shape, tide_error *error) {
    const twin_side other = twin_exchanged(side, FORWARD_Q, FORWARD_K);
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
        const call_shape s = {i == 0 ? TIDE_FP32 : TIDE_BF16, 1, 17, 1, 16};
        twin_reject(forward_case(&s), exchanged_keys, &s, forward_tolerance(&s));
        twin_reject(backward_case(&s), exchanged_gradients, &s, backward_tolerance(&s));
    }
}

/* Key s has the score 128 s, or, falling, 128 (T - 1 - s): without the maximum exponentials would
 * be infinite or all 0. Every number here is a bf16 number. */
static void large_scores_do_not_overflow(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        const call_shape s = {i / 2 == 0 ? TIDE_FP32 : TIDE_BF16, 1, 130, 1, 4};
        float q[130 * 4];
        float k[130 * 4];
        for (size_t j = 0; j < n_elements(&s); j++) {
            q[j] = 8;
            k[j] = 8 * (float)(i % 2 == 1 ? s.T - 1 - j / s.D : j / s.D);
        }
        twin_case *test = twin_begin("naive forward, large scores");
        (void)twin_written(test, s.dtype, n_elements(&s));
        (void)twin_written(test, s.dtype, n_scores(&s));
        (void)twin_given(test, s.dtype, q, n_elements(&s));
        (void)twin_given(test, s.dtype, k, n_elements(&s));
        (void)twin_read(test, s.dtype, n_elements(&s), 1);
        twin_check(test, forward, &s, forward_tolerance(&s));
    }
}

/* Two keys whose probabilities show where their scores were rounded. q k^T is exact in both types;
 * D is 2, so that the scale is 0.7071. */
typedef struct rounded_scores {
    float q[2], k[2][2]; /* of the second query, of both keys; bf16 numbers */
    float difference;    /* of the stored scores */
} rounded_scores;

static const rounded_scores ROUNDED[] = {
    {{2, 0}, {{182, 0}, {183, 0}}, 0}, /* 364 and 366: 257.4 and 258.8, either is stored as 258 */
    {{1, 1}, {{256, 0}, {256, 1}}, 1}, /* 256 and 257: 181.0 and 181.7, stored as 181 and 182 */
};

/* Also compares the result with the expected probabilities. */
static tide_status forward_of_two(const twin_side *side, const void *from, tide_error *error) {
    const rounded_scores *given = from;
    const call_shape s = {TIDE_BF16, 1, 2, 1, 2};
    TIDE_TRY(forward(side, &s, error));
    const float want = 1 / (1 + expf(-given->difference));
    uint16_t probs[4];
    twin_load(side, PROBS, probs, sizeof(probs));
    assert_true(fabsf(tide_bf16_to_fp32(probs[3]) - want) <= want * (float)BF16_ROUNDOFF);
    return TIDE_OK;
}

static void scores_are_rounded_once_when_scaled(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(ROUNDED) / sizeof(ROUNDED[0]); i++) {
        const float q[4] = {0, 0, ROUNDED[i].q[0], ROUNDED[i].q[1]};
        twin_case *test = twin_begin("naive forward, rounded scores");
        (void)twin_written(test, TIDE_BF16, 4);
        (void)twin_written(test, TIDE_BF16, 4);
        (void)twin_given(test, TIDE_BF16, q, 4);
        (void)twin_given(test, TIDE_BF16, &ROUNDED[i].k[0][0], 4);
        (void)twin_read(test, TIDE_BF16, 4, 1);
        twin_check(test, forward_of_two, &ROUNDED[i], BF16_ROUNDOFF);
    }
}

typedef tide_status (*recorded_call)(const twin_side *side, const void *shape,
                                     tide_recorder *recorder, tide_error *error);

/* Calls the operator, and expects that the side opened and closed these three scopes, one after the
 * other. */
static tide_status expect_scopes(const twin_side *side, const void *shape, recorded_call call,
                                 const char *const names[3], tide_error *error) {
    tide_recorder *recorder = NULL;
    tide_recording recording;
    TIDE_TRY(tide_recorder_create(NULL, &recorder, error));
    assert_int_equal(call(side, shape, recorder, error), TIDE_OK);
    assert_int_equal(tide_recorder_copy(recorder, tide_hostmem_default(), &recording, error),
                     TIDE_OK);
    assert_int_equal(recording.n_scopes, 3);
    for (size_t i = 0; i < recording.n_scopes; i++) {
        const tide_scope_row *scope = &recording.scopes[i];
        assert_string_equal(recording.strings[scope->name], names[i]);
        assert_int_equal(scope->kind, TIDE_SCOPE_OPERATOR);
        assert_true(scope->parent == TIDE_NONE && scope->duration_ns >= 0);
    }
    tide_recording_fini(&recording);
    tide_recorder_destroy(recorder);
    return TIDE_OK;
}

static tide_status scopes_forward(const twin_side *side, const void *shape, tide_error *error) {
    static const char *const NAMES[3] = {"scores", "softmax", "value"};
    return expect_scopes(side, shape, record_forward, NAMES, error);
}

static tide_status scopes_backward(const twin_side *side, const void *shape, tide_error *error) {
    static const char *const NAMES[3] = {"value", "softmax", "scores"};
    return expect_scopes(side, shape, record_backward, NAMES, error);
}

static void parts_are_scopes(void **state) {
    (void)state;
    const call_shape s = {TIDE_FP32, 2, 17, 2, 16};
    twin_check(forward_case(&s), scopes_forward, &s, forward_tolerance(&s));
    twin_check(backward_case(&s), scopes_backward, &s, backward_tolerance(&s));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_matches_its_twin),
        cmocka_unit_test(backward_matches_its_twin),
        cmocka_unit_test(exchanged_operands_are_seen),
        cmocka_unit_test(parts_are_scopes),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(scores_are_rounded_once_when_scaled),
    };
    return cmocka_run_group_tests_name("ops_cuda.attention_naive", tests, NULL, NULL);
}
