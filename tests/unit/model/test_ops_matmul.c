/* test_ops_matmul.c - matrix products of every kind and odd shape, on OpenBLAS and in plain C. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "ops_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t SIZES[][3] = {{1, 1, 1},     {1, 33, 7},    {31, 1, 257},    {33, 31, 1},
                                  {257, 33, 31}, {31, 257, 33}, {300, 520, 129}, {16, 1000, 64}};

static double element(const float *x, size_t row, size_t column, size_t n_columns) {
    return (double)x[row * n_columns + column];
}

/* want (m, n) = before + op(a) op(b) */
static double *reference(const tide_matmul *call, const float *before) {
    double *want = widen(before, call->m * call->n);
    for (size_t i = 0; i < call->m; i++) {
        for (size_t j = 0; j < call->n; j++) {
            double sum = 0;
            for (size_t l = 0; l < call->k; l++) {
                double a = call->kind == TIDE_MATMUL_TN ? element(call->a.data, l, i, call->m)
                                                        : element(call->a.data, i, l, call->k);
                double b = call->kind == TIDE_MATMUL_NT ? element(call->b.data, j, l, call->k)
                                                        : element(call->b.data, l, j, call->n);
                sum += a * b;
            }
            want[i * call->n + j] = sum + (call->accumulate ? want[i * call->n + j] : 0);
        }
    }
    return want;
}

static void check(tide_ops *ops, tide_matmul_kind kind, const size_t size[3], bool accumulate) {
    size_t m = size[0];
    size_t n = size[1];
    size_t k = size[2];
    float *a = random_floats(m * k, 1, 1);
    float *b = random_floats(k * n, 2, 1);
    float *out = random_floats(m * n, 3, 1);
    if (!accumulate) {
        out[0] = NAN; /* what was there must not be read */
    }
    tide_matmul call = {kind, fp32(out), fp32(a), fp32(b), m, n, k, accumulate};
    double *want = reference(&call, out);
    assert_int_equal(ops->table->matmul(ops, &call, NULL), TIDE_OK);
    char what[80];
    (void)snprintf(what, sizeof(what), "matmul kind %d (%zu, %zu, %zu)%s", (int)kind, m, n, k,
                   accumulate ? " accumulate" : "");
    /* k products, and one rounding of the product and of the accumulated value each. */
    assert_close(what, out, want, m * n, sum_tolerance(k, 2));
    free(want);
    free(out);
    free(b);
    free(a);
}

static void check_all(tide_ops *ops) {
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        for (int kind = 0; kind < 3; kind++) {
            check(ops, (tide_matmul_kind)kind, SIZES[i], false);
            check(ops, (tide_matmul_kind)kind, SIZES[i], true);
        }
    }
}

static void products(void **state) {
    check_all(fixture_ops(state));
}

static void products_in_plain_c(void **state) {
    assert_int_equal(setenv("TIDEMARK_OPENBLAS", "none", 1), 0);
    tide_ops *ops = NULL;
    ops_fixture *fixture = *state;
    assert_int_equal(
        tide_ops_open(tide_hostmem_default(), fixture->device, TIDE_PRECISION_FP32, &ops, NULL),
        TIDE_OK);
    assert_non_null(strstr(ops->table->describe(ops), "plain C"));
    check_all(ops);
    tide_ops_close(ops);
    assert_int_equal(unsetenv("TIDEMARK_OPENBLAS"), 0);
}

/* A product with the wrong operand transposed must not pass. */
static void wrong_transpose_is_rejected(void **state) {
    tide_ops *ops = fixture_ops(state);
    enum { N = 33 };
    float *a = random_floats(N * N, 1, 1);
    float *b = random_floats(N * N, 2, 1);
    float *out = zeros(N * N);
    tide_matmul call = {TIDE_MATMUL_NT, fp32(out), fp32(a), fp32(b), N, N, N, false};
    double *want = reference(&call, out);
    call.kind = TIDE_MATMUL_NN;
    assert_int_equal(ops->table->matmul(ops, &call, NULL), TIDE_OK);
    assert_rejected("wrong transpose", out, want, N * N, sum_tolerance(N, 2));
    free(want);
    free(out);
    free(b);
    free(a);
}

static void other_libraries(void **state) {
    ops_fixture *fixture = *state;
    tide_ops *ops = NULL;
    tide_error error = {""};
    assert_int_equal(setenv("TIDEMARK_OPENBLAS", "/nowhere/libopenblas.so", 1), 0);
    assert_int_equal(
        tide_ops_open(tide_hostmem_default(), fixture->device, TIDE_PRECISION_FP32, &ops, &error),
        TIDE_DEVICE_ABSENT);
    assert_non_null(strstr(error.message, "/nowhere/libopenblas.so"));
    assert_non_null(strstr(error.message, "TIDEMARK_OPENBLAS"));
    assert_int_equal(setenv("TIDEMARK_OPENBLAS", "libm.so.6", 1), 0);
    assert_int_equal(
        tide_ops_open(tide_hostmem_default(), fixture->device, TIDE_PRECISION_FP32, &ops, &error),
        TIDE_DEVICE_ABSENT);
    assert_non_null(strstr(error.message, "it is not OpenBLAS"));
    assert_int_equal(unsetenv("TIDEMARK_OPENBLAS"), 0);
    assert_null(ops);
}

static void other_precisions_are_refused(void **state) {
    ops_fixture *fixture = *state;
    tide_ops *ops = NULL;
    tide_error error = {""};
    assert_int_equal(
        tide_ops_open(tide_hostmem_default(), fixture->device, TIDE_PRECISION_TF32, &ops, &error),
        TIDE_UNSUPPORTED);
    assert_null(ops);
    assert_non_null(strstr(error.message, "tf32"));
    assert_non_null(strstr(error.message, "--device virtual"));
    assert_null(strchr(error.message, '\n'));
}

static void other_types_are_refused(void **state) {
    tide_ops *ops = fixture_ops(state);
    tide_error error = {""};
    tide_matmul call = {.a = {NULL, TIDE_INT32}, .m = 1, .n = 1, .k = 1};
    assert_int_equal(ops->table->matmul(ops, &call, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "matmul"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(products_in_plain_c),
        cmocka_unit_test(wrong_transpose_is_rejected),
        cmocka_unit_test(other_libraries),
        cmocka_unit_test(other_precisions_are_refused),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
