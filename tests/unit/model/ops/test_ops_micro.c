/* test_ops_micro.c - the operators of the micro-benchmarks on the cpu device: GELU, LayerNorm, the
 * bias of linear layers, and products of matrices with one vector; compared with double, computed
 * from the stored numbers. */
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* About a piece, and more than one chunk of an elementwise loop. */
static const size_t SIZES[] = {1, 31, 33, 257, 481, 40001};
enum { N_SIZES = sizeof(SIZES) / sizeof(SIZES[0]) };

static tide_dtype type_of(unsigned combination, unsigned i) {
    return (combination >> i & 1U) != 0 ? TIDE_BF16 : TIDE_FP32;
}

static double below(double x) {
    return erfc(-x / sqrt(2)) / 2;
}

static double gelu_slope(double x) {
    return below(x) + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
}

/* Phi errs by 7.5e-8, that is 1.3 u, and by a dozen roundings of numbers below 1; the rest are
 * two products. */
static const double GELU_TOLERANCE = 16 * UNIT_ROUNDOFF;

static void check_gelu(tide_ops *ops, size_t n, unsigned combination, double scale) {
    tide_array x = random_stored(type_of(combination, 0), n, 1, scale);
    tide_array dout = random_stored(type_of(combination, 1), n, 2, 1);
    tide_array out = random_stored(type_of(combination, 2), n, 3, 1);
    double *wide = widen_stored(x, n);
    double *slope = widen_stored(dout, n);
    for (size_t i = 0; i < n; i++) {
        slope[i] *= gelu_slope(wide[i]);
        wide[i] *= below(wide[i]);
    }
    assert_int_equal(
        ops->table->gelu_forward(ops, &(tide_gelu_forward){.out = out, .x = x, .n = n}, NULL),
        TIDE_OK);
    assert_stored("gelu", out, wide, n, GELU_TOLERANCE);
    assert_int_equal(ops->table->gelu_backward(
                         ops, &(tide_gelu_backward){.dx = out, .dout = dout, .x = x, .n = n}, NULL),
                     TIDE_OK);
    assert_stored("gelu's slope", out, slope, n, GELU_TOLERANCE);
    tide_array copy = random_stored(x.dtype, n, 1, scale);
    assert_int_equal(
        ops->table->gelu_forward(ops, &(tide_gelu_forward){.out = copy, .x = copy, .n = n}, NULL),
        TIDE_OK);
    assert_stored("gelu in place", copy, wide, n, GELU_TOLERANCE);
    free(copy.data);
    /* In place, as the benchmark calls it. */
    assert_int_equal(
        ops->table->gelu_backward(
            ops, &(tide_gelu_backward){.dx = dout, .dout = dout, .x = x, .n = n}, NULL),
        TIDE_OK);
    assert_stored("gelu's slope in place", dout, slope, n, GELU_TOLERANCE);
    free(slope);
    free(wide);
    free(out.data);
    free(dout.data);
    free(x.data);
}

static void gelu(void **state) {
    for (unsigned combination = 0; combination < 8; combination++) {
        for (size_t i = 0; i < N_SIZES; i++) {
            check_gelu(fixture_ops(state), SIZES[i], combination, 4);
            check_gelu(fixture_ops(state), SIZES[i], combination, 30); /* exp underflows */
        }
    }
}

/* Far from 0 it is x or 0; the approximation by tanh is another function. */
static void gelu_is_what_it_says(void **state) {
    tide_ops *ops = fixture_ops(state);
    float x[] = {0.0F, 1.0F, -1.0F, 3.0F, -3.0F, 100.0F, -100.0F, INFINITY};
    float out[8];
    static const double WANT[] = {
        0, 0.841344746068543, -0.158655253931457, 2.995950305896, -0.004049694104, 100,
        0, INFINITY};
    assert_int_equal(ops->table->gelu_forward(
                         ops, &(tide_gelu_forward){.out = fp32(out), .x = fp32(x), .n = 8}, NULL),
                     TIDE_OK);
    for (size_t i = 0; i < 8; i++) {
        assert_true((double)out[i] == WANT[i] || fabs((double)out[i] - WANT[i]) <= 4e-7);
    }
    double tanh_of_one = 0.5 * (1 + tanh(sqrt(2 / acos(-1)) * (1 + 0.044715)));
    assert_true(fabs((double)out[1] - tanh_of_one) > 100 * GELU_TOLERANCE);
}

typedef struct gelu_case {
    const double *dout;
    size_t n;
} gelu_case;

static double gelu_loss(const void *ctx, const double *x) {
    const gelu_case *given = ctx;
    double sum = 0;
    for (size_t i = 0; i < given->n; i++) {
        sum += given->dout[i] * x[i] * below(x[i]);
    }
    return sum;
}

static void gelu_backward_is_the_slope(void **state) {
    tide_ops *ops = fixture_ops(state);
    enum { N = 333 };
    float *x = random_floats(N, 1, 4);
    float *dout = random_floats(N, 2, 1);
    float *dx = zeros(N);
    double *wide_x = widen(x, N);
    double *wide_dout = widen(dout, N);
    const gelu_case given = {wide_dout, N};
    assert_int_equal(
        ops->table->gelu_backward(
            ops, &(tide_gelu_backward){.dx = fp32(dx), .dout = fp32(dout), .x = fp32(x), .n = N},
            NULL),
        TIDE_OK);
    assert_slope("gelu", gelu_loss, &given, wide_x, dx, N, GELU_TOLERANCE);
    free(wide_dout);
    free(wide_x);
    free(dx);
    free(dout);
    free(x);
}

/* rstd_eps is added to the variance. */
static void normalise(double *out, const double *x, const double *weight, const double *bias,
                      size_t R, size_t C, double epsilon) {
    for (size_t r = 0; r < R; r++) {
        const double *row = x + r * C;
        double mean = 0;
        double squares = 0;
        for (size_t c = 0; c < C; c++) {
            mean += row[c] / (double)C;
        }
        for (size_t c = 0; c < C; c++) {
            squares += (row[c] - mean) * (row[c] - mean);
        }
        for (size_t c = 0; c < C; c++) {
            out[r * C + c] =
                (row[c] - mean) / sqrt(squares / (double)C + epsilon) * weight[c] + bias[c];
        }
    }
}

/* Five roundings, the mean's and rstd's among them, where `offset` beside a spread of 1 makes the
 * mean's (1 + offset) times as large. */
static void check_layernorm(tide_ops *ops, size_t R, size_t C, unsigned combination,
                            double offset) {
    float *floats = random_floats(R * C, 1, 2);
    for (size_t i = 0; i < R * C; i++) {
        floats[i] += (float)offset;
    }
    tide_array x = stored(type_of(combination, 0), floats, R * C);
    tide_array weight = random_stored(type_of(combination, 1), C, 2, 1);
    tide_array bias = random_stored(type_of(combination, 2), C, 3, 1);
    tide_array out = random_stored(type_of(combination, 3), R * C, 4, 1);
    double *wide_x = widen_stored(x, R * C);
    double *wide_weight = widen_stored(weight, C);
    double *wide_bias = widen_stored(bias, C);
    double *want = widen_stored(out, R * C);
    const tide_layernorm_forward call = {out, x, weight, bias, R, C};
    normalise(want, wide_x, wide_weight, wide_bias, R, C, 1e-5);
    assert_int_equal(ops->table->layernorm_forward(ops, &call, NULL), TIDE_OK);
    assert_stored("layernorm", out, want, R * C, (8 + offset) * UNIT_ROUNDOFF);
    double *const doubles[] = {want, wide_bias, wide_weight, wide_x};
    for (size_t i = 0; i < 4; i++) {
        free(doubles[i]);
    }
    void *const data[] = {out.data, bias.data, weight.data, x.data, floats};
    for (size_t i = 0; i < 5; i++) {
        free(data[i]);
    }
}

static void layernorm(void **state) {
    static const size_t SHAPES[][2] = {{1, 2}, {31, 33}, {65, 2050}, {300, 10}};
    for (size_t s = 0; s < 4; s++) {
        for (unsigned combination = 0; combination < 16; combination++) {
            check_layernorm(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], combination, 0);
        }
        /* The mean of the squares would lose the spread to rounding. */
        check_layernorm(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], 0, 1000);
    }
}

static void layernorm_of_equal_numbers_is_the_bias(void **state) {
    tide_ops *ops = fixture_ops(state);
    float x[4] = {7, 7, 7, 7};
    float weight[4] = {1, 2, 3, 4};
    float bias[4] = {0.5F, -0.5F, 3, 0};
    float out[4];
    const tide_layernorm_forward call = {fp32(out), fp32(x), fp32(weight), fp32(bias), 1, 4};
    assert_int_equal(ops->table->layernorm_forward(ops, &call, NULL), TIDE_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_true(out[i] == bias[i]);
    }
}

enum { MATRICES = 5, MOST_CHOSEN = 3 };

/* A copy, rounded to out's type: its inputs are exact in fp32. */
static void check_bias_forward(tide_ops *ops, size_t R, size_t C, unsigned combination) {
    tide_array bias = random_stored(type_of(combination, 0), C, 1, 1);
    tide_array out = random_stored(type_of(combination, 1), R * C, 2, 1);
    double *wide = widen_stored(bias, C);
    double *want = widen_stored(out, R * C);
    for (size_t i = 0; i < R * C; i++) {
        want[i] = wide[i % C];
    }
    const tide_bias_forward call = {.out = out, .bias = bias, .R = R, .C = C};
    assert_int_equal(ops->table->bias_forward(ops, &call, NULL), TIDE_OK);
    assert_stored("bias", out, want, R * C, 0);
    free(want);
    free(wide);
    free(out.data);
    free(bias.data);
}

/* Sums are taken in double and rounded once. */
static void check_bias_backward(tide_ops *ops, size_t R, size_t C, unsigned combination) {
    tide_array dout = random_stored(type_of(combination, 0), R * C, 1, 1);
    tide_array dbias = random_stored(type_of(combination, 1), C, 2, 1);
    double *wide = widen_stored(dout, R * C);
    double *want = widen_stored(dbias, C);
    for (size_t c = 0; c < C; c++) {
        want[c] = 0;
        for (size_t r = 0; r < R; r++) {
            want[c] += wide[r * C + c];
        }
    }
    const tide_bias_backward call = {.dbias = dbias, .dout = dout, .R = R, .C = C};
    assert_int_equal(ops->table->bias_backward(ops, &call, NULL), TIDE_OK);
    assert_stored("dbias", dbias, want, C, 2 * UNIT_ROUNDOFF);
    free(want);
    free(wide);
    free(dbias.data);
    free(dout.data);
}

/* Less and more than a piece, and than the channels that a thread sums at a time. */
static void bias(void **state) {
    static const size_t SHAPES[][2] = {{1, 1}, {31, 33}, {65, 1000}, {300, 130}};
    for (size_t s = 0; s < 4; s++) {
        for (unsigned combination = 0; combination < 4; combination++) {
            check_bias_forward(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], combination);
            check_bias_backward(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], combination);
        }
    }
}

/* Matrices of one call, in storage and in double. */
typedef struct gemv_case {
    tide_gemv call; /* data owned */
    double *want;   /* owned; (n_chosen, m) */
    size_t n;       /* n_chosen * m */
} gemv_case;

static double weight_at(tide_array weight, const double *wide, size_t i) {
    return weight.dtype == TIDE_INT8 ? (double)((const int8_t *)weight.data)[i] : wide[i];
}

static tide_array random_weights(tide_dtype dtype, size_t n) {
    if (dtype != TIDE_INT8) {
        return random_stored(dtype, n, 5, 1);
    }
    float *floats = random_floats(n, 5, 127.9);
    tide_array weight = {malloc(n), TIDE_INT8};
    assert_non_null(weight.data);
    for (size_t i = 0; i < n; i++) {
        ((int8_t *)weight.data)[i] = (int8_t)floats[i];
    }
    ((int8_t *)weight.data)[0] = -128;
    free(floats);
    return weight;
}

/* Bit 0 of the combination: out is bf16; 1: x; 2: the bias; 3: there is one. */
static gemv_case make_gemv(tide_dtype dtype, unsigned combination, size_t m, size_t k,
                           const int32_t *chosen, size_t n_chosen) {
    gemv_case made = {.n = n_chosen * m};
    made.call = (tide_gemv){.out = random_stored(type_of(combination, 0), made.n, 4, 1),
                            .weight = random_weights(dtype, MATRICES * m * k),
                            .x = random_stored(type_of(combination, 1), k, 6, 1),
                            .chosen = chosen,
                            .n_chosen = n_chosen,
                            .m = m,
                            .k = k};
    made.want = widen_stored(made.call.out, made.n);
    const tide_dtype of_bias = type_of(combination, 2);
    tide_array bias = random_stored(of_bias, MATRICES * m, 7, dtype == TIDE_INT8 ? 1000 : 10);
    double *offsets = widen_stored(bias, MATRICES * m);
    double *x = widen_stored(made.call.x, k);
    double *wide = dtype == TIDE_INT8 ? NULL : widen_stored(made.call.weight, MATRICES * m * k);
    for (size_t i = 0; i < made.n; i++) {
        size_t matrix = chosen != NULL ? (size_t)chosen[i / m] : i / m;
        made.want[i] = (combination & 8U) != 0 ? offsets[matrix * m + i % m] : 0;
        for (size_t j = 0; j < k; j++) {
            made.want[i] += weight_at(made.call.weight, wide, (matrix * m + i % m) * k + j) * x[j];
        }
    }
    if ((combination & 8U) != 0) {
        made.call.bias = bias;
    } else {
        free(bias.data);
    }
    free(wide);
    free(x);
    free(offsets);
    return made;
}

static void free_gemv(gemv_case *made) {
    free(made->call.out.data);
    free(made->call.weight.data);
    free(made->call.bias.data);
    free(made->call.x.data);
    free(made->want);
}

/* Sums are taken in double and rounded once. */
static const double GEMV_TOLERANCE = 2 * UNIT_ROUNDOFF;

static void gemv(void **state) {
    tide_ops *ops = fixture_ops(state);
    static const tide_dtype DTYPES[] = {TIDE_FP32, TIDE_BF16, TIDE_INT8};
    static const size_t SHAPES[][2] = {{1, 1}, {17, 33}, {33, 16}, {130, 1000}};
    static const int32_t CHOSEN[] = {3, 0, 3};
    for (size_t i = 0; i < 3 * 4 * 16 * 3; i++) {
        const size_t *shape = SHAPES[i / 3 % 4];
        const size_t which = i / (3 * 4 * 16);
        const int32_t *chosen = which == 0 ? NULL : CHOSEN;
        gemv_case made = make_gemv(DTYPES[i % 3], (unsigned)(i / 12 % 16), shape[0], shape[1],
                                   chosen, which + 1);
        assert_int_equal(ops->table->gemv(ops, &made.call, NULL), TIDE_OK);
        assert_stored("gemv", made.call.out, made.want, made.n, GEMV_TOLERANCE);
        free_gemv(&made);
    }
}

/* Another matrix than the one chosen must not pass. */
static void gemv_takes_the_chosen_matrix(void **state) {
    tide_ops *ops = fixture_ops(state);
    static const int32_t CHOSEN[] = {3, 1};
    static const int32_t OTHERS[] = {3, 2};
    gemv_case made = make_gemv(TIDE_INT8, 0, 9, 40, CHOSEN, 2);
    made.call.chosen = OTHERS;
    assert_int_equal(ops->table->gemv(ops, &made.call, NULL), TIDE_OK);
    assert_close("the first", made.call.out.data, made.want, 9, GEMV_TOLERANCE);
    assert_rejected("the second", (const float *)made.call.out.data + 9, made.want + 9, 9,
                    GEMV_TOLERANCE);
    free_gemv(&made);
}

static void other_types_are_refused(void **state) {
    tide_ops *ops = fixture_ops(state);
    tide_error error = {""};
    tide_array whole = {NULL, TIDE_INT8};
    tide_array wide = {NULL, TIDE_FP32};
    assert_int_equal(ops->table->gelu_forward(
                         ops, &(tide_gelu_forward){.out = wide, .x = whole, .n = 1}, &error),
                     TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gelu: array 2 of 2 is int8"));
    assert_int_equal(
        ops->table->gelu_backward(
            ops, &(tide_gelu_backward){.dx = wide, .dout = wide, .x = whole, .n = 1}, &error),
        TIDE_UNSUPPORTED);
    const tide_layernorm_forward norm = {wide, wide, whole, wide, 1, 1};
    assert_int_equal(ops->table->layernorm_forward(ops, &norm, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "layernorm: array 3 of 4 is int8"));
    tide_gemv product = {.out = wide, .weight = whole, .x = whole, .n_chosen = 1, .m = 1, .k = 1};
    assert_int_equal(ops->table->gemv(ops, &product, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gemv: array 2 of 2 is int8"));
    product.x = wide;
    product.weight.dtype = TIDE_INT32;
    assert_int_equal(ops->table->gemv(ops, &product, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gemv's weight: array 1 of 1 is int32"));
    product.weight.dtype = TIDE_INT8;
    product.bias = (tide_array){&error, TIDE_INT8}; /* not looked at */
    assert_int_equal(ops->table->gemv(ops, &product, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gemv's bias: array 1 of 1 is int8"));
    const tide_bias_forward forward = {.out = wide, .bias = whole, .R = 1, .C = 1};
    assert_int_equal(ops->table->bias_forward(ops, &forward, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "bias: array 2 of 2 is int8"));
    const tide_bias_backward backward = {.dbias = whole, .dout = wide, .R = 1, .C = 1};
    assert_int_equal(ops->table->bias_backward(ops, &backward, &error), TIDE_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu),
        cmocka_unit_test(gelu_is_what_it_says),
        cmocka_unit_test(gelu_backward_is_the_slope),
        cmocka_unit_test(layernorm),
        cmocka_unit_test(layernorm_of_equal_numbers_is_the_bias),
        cmocka_unit_test(bias),
        cmocka_unit_test(gemv),
        cmocka_unit_test(gemv_takes_the_chosen_matrix),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests_name("model.ops_micro", tests, ops_fixture_setup,
                                       ops_fixture_teardown);
}
