/* test_ops_attention.c - both kinds of causal attention, forward and backward, in both types,
 * compared with a reference in double.
 *
 * Tolerances are relative errors in the L2 norm. u is a bf16 number's largest relative rounding
 * error, 2^-8; n independent roundings add up like a random walk to sqrt(n) u at most. Inputs are
 * what the arrays hold, so they have no error; arithmetic is fp32 and adds forward_tolerance or
 * backward_tolerance. Then, in bf16:
 *
 * flash: out is rounded once, lse is fp32: 1, 0. dv is rounded once: 1. dq and dk: rounded, and
 * delta reads the rounded out. That moves delta_t by at most u |P_t| |dout| |v| / sqrt(D) or so,
 * |P_t| <= 1, where dP - delta is of the size |dout| |v| / sqrt(D): 2. naive: scores are rounded,
 * in the reference too, and to the same side except for a few that fp32 noise decides. probs are
 * rounded: 1. out is rounded, and reads rounded probs: 2. dv is rounded, and reads rounded probs:
 * 2. dq and dk: rounded; dscores are, when stored; their factors are rounded probs and the
 * difference of a rounded dprob and of a mean, which has the roundings of both: 6.
 *
 * The mean's error meets all keys of a query at once and dP - delta may cancel where there are few
 * keys, which makes more of these roundings than the count says; but nearly all are well below u
 * (root mean square u / sqrt(3) at worst), which makes up for it.
 */
#include "attention_reference.h"
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define BF16_ROUNDOFF 0.00390625

/* With few numbers the reference itself is compared with differences. */
static const attention_shape SMALL[] = {
    {3, 1, 2, 10}, {2, 17, 4, 10}, {1, 65, 3, 6}, {2, 33, 1, 2}};
enum { N_SMALL = sizeof(SMALL) / sizeof(SMALL[0]) };

/* Below, on and above one tile of 64 tokens and two; below, on and above one block of 128 channels,
 * and where no vector register ends. */
static const size_t TOKENS[] = {1, 17, 64, 65, 130};
static const size_t CHANNELS[] = {1, 10, 16, 64, 80, 128, 200};
enum {
    N_TOKENS = sizeof(TOKENS) / sizeof(TOKENS[0]),
    N_CHANNELS = sizeof(CHANNELS) / sizeof(CHANNELS[0])
};

/* The numbers of an array of either type. The caller frees them. */
static float *floats_of(tide_array array, size_t n) {
    float *x = zeros(n);
    for (size_t i = 0; i < n; i++) {
        if (array.dtype == TIDE_FP32) {
            x[i] = ((const float *)array.data)[i];
        } else {
            uint32_t bits = (uint32_t)((const uint16_t *)array.data)[i] << 16;
            memcpy(&x[i], &bits, sizeof(bits));
        }
    }
    return x;
}

/* The operator's arrays. */
typedef struct attention_run {
    attention_shape s;
    tide_dtype dtype; /* of all but lse and scratch */
    tide_array inputs[3], grads[3], dout, out, probs, dprobs;
    float *lse, *scratch;
} attention_run;

static attention_run make_run(attention_shape s, tide_dtype dtype) {
    size_t n = attention_elements(s);
    attention_run run = {.s = s, .dtype = dtype};
    for (uint64_t i = 0; i < 3; i++) {
        run.inputs[i] = random_stored(dtype, n, 1 + i, 2);
        run.grads[i] = random_stored(dtype, n, 5, 1); /* must be overwritten */
    }
    run.dout = random_stored(dtype, n, 4, 1);
    run.out = random_stored(dtype, n, 6, 1);
    run.lse = zeros(attention_n_rows(s));
    run.probs = random_stored(dtype, attention_n_rows(s) * s.T, 7, 1);
    run.dprobs = random_stored(dtype, attention_n_rows(s) * s.T, 8, 1);
    run.scratch = random_floats(attention_n_rows(s), 9, 1);
    return run;
}

static void free_run(attention_run *run) {
    for (int i = 0; i < 3; i++) {
        free(run->inputs[i].data);
        free(run->grads[i].data);
    }
    free(run->dout.data);
    free(run->out.data);
    free(run->lse);
    free(run->probs.data);
    free(run->dprobs.data);
    free(run->scratch);
}

/* The inputs of a run as a case of the reference, and its results. */
typedef struct expectation {
    attention_case given;
    double *inputs[3], *dout; /* owned */
    attention_reference want;
} expectation;

static expectation expect(tide_attention kind, const attention_run *run) {
    size_t n = attention_elements(run->s);
    expectation expected = {.dout = widen_stored(run->dout, n)};
    expected.given =
        (attention_case){.s = run->s,
                         .dout = expected.dout,
                         .rounds_scores = kind == TIDE_ATTENTION_NAIVE && run->dtype == TIDE_BF16};
    for (int i = 0; i < 3; i++) {
        expected.inputs[i] = widen_stored(run->inputs[i], n);
        expected.given.inputs[i] = expected.inputs[i];
    }
    expected.want = attention_reference_make(&expected.given);
    return expected;
}

static void free_expectation(expectation *expected) {
    attention_reference_free(&expected->want);
    free(expected->dout);
    for (int i = 0; i < 3; i++) {
        free(expected->inputs[i]);
    }
}

static void run_forward(tide_ops *ops, tide_attention kind, const attention_run *run) {
    attention_shape s = run->s;
    tide_attention_forward call = {kind,
                                   run->out,
                                   run->inputs[0],
                                   run->inputs[1],
                                   run->inputs[2],
                                   kind == TIDE_ATTENTION_FLASH ? run->lse : NULL,
                                   run->probs,
                                   s.B,
                                   s.T,
                                   s.H,
                                   s.D};
    assert_int_equal(ops->table->attention_forward(ops, &call, NULL), TIDE_OK);
}

static tide_attention_backward backward_call(tide_attention kind, const attention_run *run) {
    return (tide_attention_backward){
        .kind = kind,
        .dq = run->grads[0],
        .dk = run->grads[1],
        .dv = run->grads[2],
        .dout = run->dout,
        .out = kind == TIDE_ATTENTION_FLASH ? run->out : (tide_array){NULL, TIDE_FP32},
        .q = run->inputs[0],
        .k = run->inputs[1],
        .v = run->inputs[2],
        .lse = run->lse,
        .probs = run->probs,
        .dprobs = run->dprobs,
        .scratch = run->scratch,
        .B = run->s.B,
        .T = run->s.T,
        .H = run->s.H,
        .D = run->s.D};
}

static void run_backward(tide_ops *ops, tide_attention kind, const attention_run *run) {
    tide_attention_backward call = backward_call(kind, run);
    assert_int_equal(ops->table->attention_backward(ops, &call, NULL), TIDE_OK);
}

/* A score is a sum of D products with an absolute error of about u sqrt(D) |score|; |score| is at
 * most 4 sqrt(D) here, and its absolute error is a probability's relative one. Then sums over T
 * probabilities. */
static double forward_tolerance(attention_shape s) {
    return sum_tolerance(s.T, 8) + UNIT_ROUNDOFF * 4 * sqrt((double)s.D);
}

/* dP - delta cancels: both are sums of D products, their difference is as large as they are for
 * all but the rows of few keys; four such errors meet in dq and dk. */
static double backward_tolerance(attention_shape s) {
    return 4 * (forward_tolerance(s) + sum_tolerance(s.D, 4));
}

/* n roundings to the run's type. */
static double rounded(const attention_run *run, double n) {
    return run->dtype == TIDE_BF16 ? BF16_ROUNDOFF * sqrt(n) : 0;
}

static double relative_error_of(tide_array got, const double *want, size_t n) {
    float *x = floats_of(got, n);
    double error = relative_error(x, want, n);
    free(x);
    return error;
}

static void assert_array_close(const char *what, const attention_run *run, tide_array got,
                               const double *want, size_t n, double tolerance) {
    double error = relative_error_of(got, want, n);
    if (!(error <= tolerance)) {
        fail_msg("%s, %s, T %zu, D %zu: relative error %.3g of %zu numbers exceeds %.3g", what,
                 run->dtype == TIDE_BF16 ? "bf16" : "fp32", run->s.T, run->s.D, error, n,
                 tolerance);
    }
}

static void assert_zero_above_diagonal(const attention_run *run) {
    size_t T = run->s.T;
    float *probs = floats_of(run->probs, attention_n_rows(run->s) * T);
    for (size_t row = 0; row < attention_n_rows(run->s); row++) {
        for (size_t s = row % T + 1; s < T; s++) {
            if (probs[row * T + s] != 0) {
                fail_msg("probs[%zu][%zu] is not 0", row, s);
            }
        }
    }
    free(probs);
}

static void check_forward(tide_ops *ops, tide_attention kind, const attention_run *run,
                          const attention_reference *want) {
    attention_shape s = run->s;
    run_forward(ops, kind, run);
    if (kind == TIDE_ATTENTION_FLASH) {
        assert_array_close("flash out", run, run->out, want->out, attention_elements(s),
                           forward_tolerance(s) + rounded(run, 1));
        assert_array_close("lse", run, fp32(run->lse), want->lse, attention_n_rows(s),
                           forward_tolerance(s));
        return;
    }
    assert_array_close("naive out", run, run->out, want->out, attention_elements(s),
                       forward_tolerance(s) + rounded(run, 2));
    assert_array_close("probs", run, run->probs, want->probs, attention_n_rows(s) * s.T,
                       forward_tolerance(s) + rounded(run, 1));
    assert_zero_above_diagonal(run);
}

static double gradient_tolerance(tide_attention kind, const attention_run *run, int i) {
    static const double FLASH[3] = {2, 2, 1};
    static const double NAIVE[3] = {6, 6, 2};
    return backward_tolerance(run->s) +
           rounded(run, kind == TIDE_ATTENTION_FLASH ? FLASH[i] : NAIVE[i]);
}

static void check_backward(tide_ops *ops, tide_attention kind, const attention_run *run,
                           const attention_reference *want) {
    static const char *const NAMES[TIDE_N_ATTENTIONS][3] = {
        [TIDE_ATTENTION_FLASH] = {"flash dq", "flash dk", "flash dv"},
        [TIDE_ATTENTION_NAIVE] = {"naive dq", "naive dk", "naive dv"}};
    attention_shape s = run->s;
    size_t n = attention_elements(s);
    run_backward(ops, kind, run);
    for (int i = 0; i < 3; i++) {
        if (s.T == 1 && i < 2) {
            /* One key: its probability is 1, whatever q and k are, and rounding is all there is.
             * dP and delta are sums of D products below 2, so each is off by sqrt(D) roundings of
             * at most 2 sqrt(D); their difference is multiplied by a q or k below 2 / sqrt(D).
             * In bf16 out is v, and naive's mean is the rounded dprob, so nothing is added. */
            double *none = calloc(n, sizeof(*none));
            assert_non_null(none);
            double element = 2 * UNIT_ROUNDOFF * 2 * (double)s.D * 2 / sqrt((double)s.D);
            assert_array_close(NAMES[kind][i], run, run->grads[i], none, n,
                               element * sqrt((double)n) * (1 + rounded(run, 1)));
            free(none);
            continue;
        }
        assert_array_close(NAMES[kind][i], run, run->grads[i], want->grads[i], n,
                           gradient_tolerance(kind, run, i));
    }
}

static void check_all(tide_ops *ops, tide_attention kind, tide_dtype dtype) {
    for (size_t i = 0; i < (size_t)N_TOKENS * N_CHANNELS; i++) {
        attention_shape s = {i % 2 + 1, TOKENS[i / N_CHANNELS], 2, CHANNELS[i % N_CHANNELS]};
        attention_run run = make_run(s, dtype);
        expectation expected = expect(kind, &run);
        check_forward(ops, kind, &run, &expected.want);
        check_backward(ops, kind, &run, &expected.want);
        free_expectation(&expected);
        free_run(&run);
    }
}

static void flash_fp32(void **state) {
    check_all(fixture_ops(state), TIDE_ATTENTION_FLASH, TIDE_FP32);
}

static void flash_bf16(void **state) {
    check_all(fixture_ops(state), TIDE_ATTENTION_FLASH, TIDE_BF16);
}

static void naive_fp32(void **state) {
    check_all(fixture_ops(state), TIDE_ATTENTION_NAIVE, TIDE_FP32);
}

static void naive_bf16(void **state) {
    check_all(fixture_ops(state), TIDE_ATTENTION_NAIVE, TIDE_BF16);
}

/* The gradients, and with them the reference's, are the slope of the reference's loss. */
static void gradients_are_slopes(void **state) {
    for (size_t i = 0; i < (size_t)N_SMALL * TIDE_N_ATTENTIONS; i++) {
        tide_attention kind = (tide_attention)(i % TIDE_N_ATTENTIONS);
        attention_run run = make_run(SMALL[i / TIDE_N_ATTENTIONS], TIDE_FP32);
        expectation expected = expect(kind, &run);
        check_forward(fixture_ops(state), kind, &run, &expected.want);
        check_backward(fixture_ops(state), kind, &run, &expected.want);
        for (int which = run.s.T == 1 ? 2 : 0; which < 3; which++) {
            expected.given.which = which;
            assert_slope("attention", attention_loss, &expected.given, expected.inputs[which],
                         run.grads[which].data, attention_elements(run.s),
                         backward_tolerance(run.s));
        }
        free_expectation(&expected);
        free_run(&run);
    }
}

/* Row statistics are not written unless the caller passes an array for them. */
static void lse_is_optional(void **state) {
    attention_run run = make_run((attention_shape){1, 65, 3, 6}, TIDE_FP32);
    size_t n_bytes = attention_elements(run.s) * sizeof(float);
    run_forward(fixture_ops(state), TIDE_ATTENTION_FLASH, &run);
    float *with = floats_of(run.out, attention_elements(run.s));
    memset(run.out.data, 0, n_bytes);
    attention_run without = run;
    without.lse = NULL;
    run_forward(fixture_ops(state), TIDE_ATTENTION_FLASH, &without);
    assert_memory_equal(run.out.data, with, n_bytes);
    free(with);
    free_run(&run);
}

static void set_number(tide_array x, size_t i, float value) {
    if (x.dtype == TIDE_BF16) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof(bits));
        ((uint16_t *)x.data)[i] = (uint16_t)(bits >> 16);
    } else {
        ((float *)x.data)[i] = value;
    }
}

/* The scores are far apart and far from zero: key s has the score 128 s, or, falling, 128 (T - 1 -
 * s). So the maximum is the last one that a query sees, and moves in every tile, or the first, and
 * stays; without it exponentials would be infinite or all 0. */
static void check_large_scores(tide_ops *ops, tide_attention kind, tide_dtype dtype, bool falling) {
    attention_shape s = {1, 200, 1, 4};
    attention_run run = make_run(s, dtype);
    for (size_t i = 0; i < attention_elements(s);
         i++) { /* 8 times a number below 256 is a bf16 number */
        size_t t = i / s.D;
        set_number(run.inputs[0], i, 8);
        set_number(run.inputs[1], i, 8 * (float)(falling ? s.T - 1 - t : t));
    }
    expectation expected = expect(kind, &run);
    check_forward(ops, kind, &run, &expected.want);
    free_expectation(&expected);
    free_run(&run);
}

static void large_scores_do_not_overflow(void **state) {
    for (int i = 0; i < 4 * TIDE_N_ATTENTIONS; i++) {
        check_large_scores(fixture_ops(state), (tide_attention)(i / 4),
                           i / 2 % 2 == 0 ? TIDE_FP32 : TIDE_BF16, i % 2 == 1);
    }
}

/* Without the factor 1 / sqrt(D), that is, with q larger by sqrt(D), no kind may pass in any
 * type. */
static void missing_scale_is_rejected(void **state) {
    attention_shape s = {2, 17, 4, 4}; /* sqrt(D) is 2, so that q times it is exact */
    size_t n = attention_elements(s);
    for (int i = 0; i < 2 * TIDE_N_ATTENTIONS; i++) {
        tide_attention kind = (tide_attention)(i / 2);
        attention_run run = make_run(s, i % 2 == 0 ? TIDE_FP32 : TIDE_BF16);
        expectation expected = expect(kind, &run);
        for (size_t j = 0; j < n; j++) { /* the exponent's lowest bit: at 7 in bf16, 23 in fp32 */
            if (run.dtype == TIDE_BF16) {
                ((uint16_t *)run.inputs[0].data)[j] += 1U << 7;
            } else {
                ((float *)run.inputs[0].data)[j] *= 2;
            }
        }
        run_forward(fixture_ops(state), kind, &run);
        run_backward(fixture_ops(state), kind, &run);
        assert_true(relative_error_of(run.out, expected.want.out, n) >
                    forward_tolerance(s) + rounded(&run, 2));
        for (int g = 0; g < 3; g++) {
            assert_true(relative_error_of(run.grads[g], expected.want.grads[g], n) >
                        gradient_tolerance(kind, &run, g));
        }
        free_expectation(&expected);
        free_run(&run);
    }
}

/* A mix of types is refused by a message, not computed wrongly. */
static void mixed_types_are_refused(void **state) {
    tide_ops *ops = fixture_ops(state);
    attention_run run = make_run((attention_shape){1, 2, 1, 4}, TIDE_BF16);
    tide_attention_backward call = backward_call(TIDE_ATTENTION_FLASH, &run);
    call.out.dtype = TIDE_FP32;
    tide_error error = {""};
    assert_int_equal(ops->table->attention_backward(ops, &call, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "attention"));
    free_run(&run);
}

/* Runs both passes on operators with n_threads threads. */
static attention_run run_threads(tide_device *device, int n_threads, tide_attention kind,
                                 attention_shape s, tide_dtype dtype) {
    tide_ops *ops = NULL;
#ifdef _OPENMP
    int before = omp_get_max_threads();
    omp_set_num_threads(n_threads);
#else
    (void)n_threads;
#endif
    assert_int_equal(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, NULL),
                     TIDE_OK);
#ifdef _OPENMP
    omp_set_num_threads(before);
#endif
    attention_run run = make_run(s, dtype);
    run_forward(ops, kind, &run);
    run_backward(ops, kind, &run);
    tide_ops_close(ops);
    return run;
}

static void same_bits_for_any_number_of_threads(void **state) {
    static const attention_shape SHAPES[] = {{2, 130, 3, 22}, {1, 200, 1, 200}};
    tide_device *device = ((ops_fixture *)*state)->device;
    for (int i = 0; i < 8; i++) {
        attention_shape s = SHAPES[i / 4];
        tide_attention kind = (tide_attention)(i / 2 % 2);
        tide_dtype dtype = i % 2 == 0 ? TIDE_FP32 : TIDE_BF16;
        size_t n_bytes = attention_elements(s) * tide_dtype_bytes(dtype);
        attention_run one = run_threads(device, 1, kind, s, dtype);
        for (int n_threads = 2; n_threads <= 3; n_threads++) {
            attention_run many = run_threads(device, n_threads, kind, s, dtype);
            assert_memory_equal(one.out.data, many.out.data, n_bytes);
            assert_memory_equal(one.lse, many.lse, attention_n_rows(s) * sizeof(float));
            for (int g = 0; g < 3; g++) {
                assert_memory_equal(one.grads[g].data, many.grads[g].data, n_bytes);
            }
            free_run(&many);
        }
        free_run(&one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_fp32),
        cmocka_unit_test(flash_bf16),
        cmocka_unit_test(naive_fp32),
        cmocka_unit_test(naive_bf16),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(lse_is_optional),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(missing_scale_is_rejected),
        cmocka_unit_test(mixed_types_are_refused),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
