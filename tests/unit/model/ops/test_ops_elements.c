/* test_ops_elements.c - operators that work element by element: SwiGLU, sums, casts, fills; the
 * norm, clipping and AdamW. */
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last is more than one chunk of an elementwise loop. */
static const size_t SIZES[] = {1, 31, 33, 257, 40001};
enum { N_SIZES = sizeof(SIZES) / sizeof(SIZES[0]) };

static double silu(double x) {
    return x / (1 + exp(-x));
}

typedef struct swiglu_case {
    const double *other, *dout; /* the operand that is held fixed */
    size_t n;
    bool of_gate; /* x is the gate */
} swiglu_case;

static double swiglu_loss(const void *ctx, const double *x) {
    const swiglu_case *given = ctx;
    double sum = 0;
    for (size_t i = 0; i < given->n; i++) {
        sum += given->dout[i] *
               (given->of_gate ? silu(x[i]) * given->other[i] : silu(given->other[i]) * x[i]);
    }
    return sum;
}

static void check_swiglu(tide_ops *ops, size_t n, double scale) {
    float *gate = random_floats(n, 1, scale);
    float *up = random_floats(n, 2, 1);
    float *dout = random_floats(n, 3, 1);
    float *out = zeros(n);
    float *dgate = zeros(n);
    float *dup = zeros(n);
    double *g = widen(gate, n);
    double *u = widen(up, n);
    double *d = widen(dout, n);
    double *want = widen(gate, n);
    double *want_dgate = widen(gate, n);
    double *want_dup = widen(gate, n);
    for (size_t i = 0; i < n; i++) {
        double s = 1 / (1 + exp(-g[i]));
        want[i] = silu(g[i]) * u[i];
        want_dup[i] = d[i] * silu(g[i]);
        want_dgate[i] = d[i] * u[i] * s * (1 + g[i] * (1 - s));
    }
    /* Eight roundings and exp's error of 2 u; exp(-x) at large x also takes u |x| / 2 from its
     * argument, but is then small compared with 1. */
    double tolerance = sum_tolerance(0, 12);
    assert_int_equal(
        ops->table->swiglu_forward(
            ops,
            &(tide_swiglu_forward){.out = fp32(out), .gate = fp32(gate), .up = fp32(up), .n = n},
            NULL),
        TIDE_OK);
    assert_close("swiglu", out, want, n, tolerance);
    assert_int_equal(ops->table->swiglu_backward(ops,
                                                 &(tide_swiglu_backward){.dgate = fp32(dgate),
                                                                         .dup = fp32(dup),
                                                                         .dout = fp32(dout),
                                                                         .gate = fp32(gate),
                                                                         .up = fp32(up),
                                                                         .n = n},
                                                 NULL),
                     TIDE_OK);
    assert_close("swiglu's dup", dup, want_dup, n, tolerance);
    assert_close("swiglu's dgate", dgate, want_dgate, n, tolerance);
    const swiglu_case of_gate = {u, d, n, true};
    const swiglu_case of_up = {g, d, n, false};
    assert_slope("swiglu's dgate", swiglu_loss, &of_gate, g, dgate, n, tolerance);
    assert_slope("swiglu's dup", swiglu_loss, &of_up, u, dup, n, tolerance);
    if (n > 1) { /* gate and up exchanged must not pass */
        assert_int_equal(ops->table->swiglu_forward(
                             ops,
                             &(tide_swiglu_forward){
                                 .out = fp32(out), .gate = fp32(up), .up = fp32(gate), .n = n},
                             NULL),
                         TIDE_OK);
        assert_rejected("swiglu of exchanged operands", out, want, n, tolerance);
    }
    double *const doubles[] = {g, u, d, want, want_dgate, want_dup};
    float *const floats[] = {gate, up, dout, out, dgate, dup};
    for (size_t i = 0; i < 6; i++) {
        free(doubles[i]);
        free(floats[i]);
    }
}

static void swiglu(void **state) {
    for (size_t i = 0; i < N_SIZES; i++) {
        check_swiglu(fixture_ops(state), SIZES[i], 4);
        check_swiglu(fixture_ops(state), SIZES[i], 100); /* beyond where exp overflows */
    }
}

static void casts(void **state) {
    tide_ops *ops = fixture_ops(state);
    static const struct {
        float wide;
        uint16_t narrow;
    } CASES[] = {
        {1.0F, 0x3F80},        {-2.5F, 0xC020}, {1.00390625F, 0x3F80}, /* half way: to even, down */
        {1.01171875F, 0x3F82},                                         /* half way: to even, up */
        {1.00390637F, 0x3F81},                                         /* just above half way */
        {3.4e38F, 0x7F80},                                             /* beyond the largest */
        {0.0F, 0x0000},        {-0.0F, 0x8000}, {INFINITY, 0x7F80}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        float wide = CASES[i].wide;
        uint16_t narrow = 1;
        tide_array bf16 = {&narrow, TIDE_BF16};
        assert_int_equal(
            ops->table->cast(ops, &(tide_cast){.out = bf16, .x = fp32(&wide), .n = 1}, NULL),
            TIDE_OK);
        assert_int_equal(narrow, CASES[i].narrow);
        float back = 0;
        assert_int_equal(
            ops->table->cast(ops, &(tide_cast){.out = fp32(&back), .x = bf16, .n = 1}, NULL),
            TIDE_OK);
        assert_true((double)back == INFINITY ||
                    fabs((double)(back - wide)) <= 0.00390625 * fabs((double)wide));
    }
    float nan = NAN;
    uint16_t narrow = 0;
    assert_int_equal(
        ops->table->cast(
            ops, &(tide_cast){.out = (tide_array){&narrow, TIDE_BF16}, .x = fp32(&nan), .n = 1},
            NULL),
        TIDE_OK);
    assert_true((narrow & 0x7F80) == 0x7F80 && (narrow & 0x7F) != 0);
    float *x = random_floats(257, 1, 1);
    float *copy = zeros(257);
    assert_int_equal(
        ops->table->cast(ops, &(tide_cast){.out = fp32(copy), .x = fp32(x), .n = 257}, NULL),
        TIDE_OK);
    assert_memory_equal(copy, x, 257 * sizeof(float));
    free(copy);
    free(x);
}

static void fill(void **state) {
    tide_ops *ops = fixture_ops(state);
    for (size_t i = 0; i < N_SIZES; i++) {
        size_t n = SIZES[i];
        float *x = random_floats(n + 1, 1, 1);
        float after = x[n];
        assert_int_equal(
            ops->table->fill(ops, &(tide_fill){.out = fp32(x), .value = 0.25, .n = n}, NULL),
            TIDE_OK);
        for (size_t j = 0; j < n; j++) {
            assert_true(x[j] == 0.25F);
        }
        assert_true(x[n] == after);
        free(x);
    }
}

/* Mean, variance and fourth moment of a normal variable truncated at +-3; variance 1 - 6 f(3) / (1
 * - 2 F(-3)), fourth moment by the recurrence of parts. */
static void normal_numbers(void **state) {
    tide_ops *ops = fixture_ops(state);
    enum { N = 400003 };
    const double SIGMA = 0.02;
    float *x = zeros(N + 1);
    x[N] = 7;
    tide_random random = {42, 3};
    assert_int_equal(
        ops->table->fill_normal(
            ops, &(tide_fill_normal){.out = fp32(x), .sigma = SIGMA, .random = random, .n = N},
            NULL),
        TIDE_OK);
    double density = exp(-4.5) / sqrt(2 * 3.14159265358979323846);
    double edge = 6 * density / erf(3 / sqrt(2.0));
    double second = 1 - edge;
    double fourth = 3 * second - 9 * edge;
    double sums[5] = {0};
    double largest = 0;
    for (size_t i = 0; i < N; i++) {
        double z = (double)x[i] / SIGMA;
        largest = fmax(largest, fabs(z));
        for (int power = 1; power <= 4; power++) {
            sums[power] += pow(z, power) / N;
        }
    }
    /* Five standard deviations of the means of N samples; the eighth moment is below 105. */
    assert_true(fabs(sums[1]) <= 5 * sqrt(second / N));
    assert_true(fabs(sums[2] - second) <= 5 * sqrt((fourth - second * second) / N));
    assert_true(fabs(sums[3]) <= 5 * sqrt(15.0 / N));
    assert_true(fabs(sums[4] - fourth) <= 5 * sqrt(105.0 / N));
    assert_true(largest <= 3 * (1 + UNIT_ROUNDOFF) && largest > 2.99);
    assert_true(x[N] == 7.0F);
    free(x);
}

/* An element depends on seed, stream and its index alone. */
static void random_numbers_are_keyed(void **state) {
    tide_ops *ops = fixture_ops(state);
    float one[37];
    float longer[64];
    float other[37];
    tide_random random = {1, 2};
    assert_int_equal(
        ops->table->fill_normal(
            ops, &(tide_fill_normal){.out = fp32(one), .sigma = 1, .random = random, .n = 37},
            NULL),
        TIDE_OK);
    assert_int_equal(
        ops->table->fill_normal(
            ops, &(tide_fill_normal){.out = fp32(longer), .sigma = 1, .random = random, .n = 64},
            NULL),
        TIDE_OK);
    assert_memory_equal(one, longer, sizeof(one));
    tide_random next_stream = {1, 3};
    assert_int_equal(
        ops->table->fill_normal(
            ops,
            &(tide_fill_normal){.out = fp32(other), .sigma = 1, .random = next_stream, .n = 37},
            NULL),
        TIDE_OK);
    assert_memory_not_equal(one, other, sizeof(one));
    tide_random next_seed = {2, 2};
    assert_int_equal(
        ops->table->fill_normal(
            ops, &(tide_fill_normal){.out = fp32(other), .sigma = 1, .random = next_seed, .n = 37},
            NULL),
        TIDE_OK);
    assert_memory_not_equal(one, other, sizeof(one));
}

static void tokens(void **state) {
    tide_ops *ops = fixture_ops(state);
    enum { N = 60001, BOUND = 6 };
    int32_t *x = calloc(N, sizeof(*x));
    assert_non_null(x);
    size_t counts[BOUND] = {0};
    tide_random random = {0, 9};
    assert_int_equal(
        ops->table->fill_tokens(
            ops, &(tide_fill_tokens){.out = x, .bound = BOUND, .random = random, .n = N}, NULL),
        TIDE_OK);
    for (size_t i = 0; i < N; i++) {
        assert_in_range(x[i], 0, BOUND - 1);
        counts[x[i]]++;
    }
    for (size_t i = 0; i < BOUND; i++) { /* five standard deviations */
        assert_true(fabs((double)counts[i] - N / 6.0) <= 5 * sqrt(N / 6.0 * 5 / 6));
    }
    assert_int_equal(
        ops->table->fill_tokens(
            ops, &(tide_fill_tokens){.out = x, .bound = 0, .random = random, .n = N}, NULL),
        TIDE_LIMIT);
    free(x);
}

/* Parameter 0 of 1 element, 1 of 33, 2 of more than one chunk. */
enum { N_PARAMETERS = 3, N_LARGEST = 65536 + 257 };
static const size_t N_ELEMENTS[N_PARAMETERS] = {1, 33, N_LARGEST};

static void norm_and_clip(void **state) {
    tide_ops *ops = fixture_ops(state);
    tide_parameter_arrays parameters[N_PARAMETERS] = {{.n_elements = 0}};
    float *gradients[N_PARAMETERS];
    double sum = 0;
    for (size_t p = 0; p < N_PARAMETERS; p++) {
        gradients[p] = random_floats(N_ELEMENTS[p], p, 1);
        parameters[p] =
            (tide_parameter_arrays){.gradient = fp32(gradients[p]), .n_elements = N_ELEMENTS[p]};
        for (size_t i = 0; i < N_ELEMENTS[p]; i++) {
            sum += (double)gradients[p][i] * (double)gradients[p][i];
        }
    }
    float *scratch = zeros(tide_ops_norm_scratch_elements(parameters, N_PARAMETERS));
    float norm = 0;
    double want = sqrt(sum);
    assert_int_equal(ops->table->global_norm(ops,
                                             &(tide_global_norm){.parameters = parameters,
                                                                 .n_parameters = N_PARAMETERS,
                                                                 .scratch = scratch,
                                                                 .norm = &norm},
                                             NULL),
                     TIDE_OK);
    assert_close("global norm", &norm, &want, 1, sum_tolerance(0, 2));
    double *before = widen(gradients[2], N_LARGEST);
    assert_int_equal(ops->table->clip(ops,
                                      &(tide_clip){.parameters = parameters,
                                                   .n_parameters = N_PARAMETERS,
                                                   .norm = &norm,
                                                   .max_norm = 1e6},
                                      NULL),
                     TIDE_OK);
    assert_close("gradients within the norm", gradients[2], before, N_LARGEST, 0);
    assert_int_equal(ops->table->clip(ops,
                                      &(tide_clip){.parameters = parameters,
                                                   .n_parameters = N_PARAMETERS,
                                                   .norm = &norm,
                                                   .max_norm = 0.5},
                                      NULL),
                     TIDE_OK);
    for (size_t i = 0; i < N_LARGEST; i++) {
        before[i] *= 0.5 / (want + 1e-6);
    }
    assert_close("clipped gradients", gradients[2], before, N_LARGEST, sum_tolerance(0, 3));
    free(before);
    free(scratch);
    for (size_t p = 0; p < N_PARAMETERS; p++) {
        free(gradients[p]);
    }
}

typedef struct adamw_reference {
    double *p, *m, *v;
} adamw_reference;

static void adamw_step(const tide_adamw_settings *a, int64_t t, const adamw_reference *want,
                       const float *g, size_t n) {
    double step = a->lr * sqrt(1 - pow(a->beta2, (double)t)) / (1 - pow(a->beta1, (double)t));
    for (size_t i = 0; i < n; i++) {
        double gradient = (double)g[i];
        want->m[i] = a->beta1 * want->m[i] + (1 - a->beta1) * gradient;
        want->v[i] = a->beta2 * want->v[i] + (1 - a->beta2) * gradient * gradient;
        want->p[i] -= step * want->m[i] / (sqrt(want->v[i]) + a->eps);
        want->p[i] -= a->lr * a->weight_decay * want->p[i];
    }
}

static void adamw(void **state) {
    tide_ops *ops = fixture_ops(state);
    const size_t n = 257;
    /* eps is as large as the roots of v, so that its place in the formula matters. */
    tide_adamw_settings adamw = {
        .lr = 0.3, .beta1 = 0.8, .beta2 = 0.95, .eps = 0.1, .weight_decay = 0.2};
    float *p = random_floats(n, 1, 1);
    float *m = zeros(n);
    float *v = zeros(n);
    adamw_reference want = {widen(p, n), widen(m, n), widen(v, n)};
    for (int64_t t = 1; t <= 4; t++) {
        float *g = random_floats(n, 10 + (uint64_t)t, 1);
        tide_parameter_arrays arrays = {fp32(p), fp32(g), fp32(m), fp32(v), n};
        assert_int_equal(
            ops->table->adamw(
                ops,
                &(tide_adamw){.settings = adamw, .t = t, .parameters = &arrays, .n_parameters = 1},
                NULL),
            TIDE_OK);
        adamw_step(&adamw, t, &want, g, n);
        free(g);
    }
    /* About ten roundings a step; m may cancel between steps, so against the largest m: 4 steps. */
    assert_close("AdamW's m", m, want.m, n, sum_tolerance(0, 4 * 3));
    assert_close("AdamW's v", v, want.v, n, sum_tolerance(0, 4 * 4));
    assert_close("AdamW's parameters", p, want.p, n, sum_tolerance(0, 4 * 10));
    /* A wrong optimizer, whose eps is half as large, must not pass. */
    float *wrong_p = random_floats(n, 1, 1);
    adamw.eps /= 2;
    memset(m, 0, n * sizeof(*m));
    memset(v, 0, n * sizeof(*v));
    for (int64_t t = 1; t <= 4; t++) {
        float *g = random_floats(n, 10 + (uint64_t)t, 1);
        tide_parameter_arrays arrays = {fp32(wrong_p), fp32(g), fp32(m), fp32(v), n};
        assert_int_equal(
            ops->table->adamw(
                ops,
                &(tide_adamw){.settings = adamw, .t = t, .parameters = &arrays, .n_parameters = 1},
                NULL),
            TIDE_OK);
        free(g);
    }
    assert_rejected("AdamW with another eps", wrong_p, want.p, n, sum_tolerance(0, 4 * 10));
    free(wrong_p);
    free(want.p);
    free(want.m);
    free(want.v);
    free(p);
    free(m);
    free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swiglu),
        cmocka_unit_test(casts),
        cmocka_unit_test(fill),
        cmocka_unit_test(normal_numbers),
        cmocka_unit_test(random_numbers_are_keyed),
        cmocka_unit_test(tokens),
        cmocka_unit_test(norm_and_clip),
        cmocka_unit_test(adamw),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
