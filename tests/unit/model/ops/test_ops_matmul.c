/* test_ops_matmul.c - matrix products of every kind and odd shape, storage type and instruction
 * set. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "ops_support.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/ops_cpu/ops_cpu_internal.h"

static const size_t SIZES[][3] = {{1, 1, 1},     {1, 33, 7},    {31, 1, 257},    {33, 31, 1},
                                  {257, 33, 31}, {31, 257, 33}, {300, 520, 129}, {16, 1000, 64}};

/* A matrix in both types. */
typedef struct matrix {
    tide_array array;  /* of the requested type */
    float *values;     /* owned; exactly what the array holds */
    uint16_t *bf16;    /* owned; what a bf16 array points to */
    size_t n_elements; /* of each */
} matrix;

static matrix make_matrix(size_t n_elements, uint64_t seed, tide_dtype dtype) {
    matrix x = {{NULL, dtype}, random_floats(n_elements, seed, 1), NULL, n_elements};
    x.array.data = x.values;
    if (dtype == TIDE_BF16) {
        x.bf16 = calloc(n_elements, sizeof(*x.bf16));
        assert_non_null(x.bf16);
        x.array.data = x.bf16;
        for (size_t i = 0; i < n_elements; i++) {
            x.bf16[i] = tide_fp32_to_bf16(x.values[i]);
            x.values[i] = tide_bf16_to_fp32(x.bf16[i]);
        }
    }
    return x;
}

/* After an operator has written to the array. */
static const float *read_matrix(matrix *x) {
    for (size_t i = 0; x->bf16 != NULL && i < x->n_elements; i++) {
        x->values[i] = tide_bf16_to_fp32(x->bf16[i]);
    }
    return x->values;
}

static void free_matrix(matrix *x) {
    free(x->bf16);
    free(x->values);
}

static double element(const matrix *x, size_t row, size_t column, size_t n_columns) {
    return (double)x->values[row * n_columns + column];
}

/* The addend of a product. */
typedef enum adds_to { ADDS_TO_NOTHING = 0, ADDS_TO_OUT, ADDS_TO_ANOTHER, N_ADDS_TO } adds_to;

/* want (m, n) = before + op(a) op(b) */
static double *reference(const tide_matmul *call, const matrix *a, const matrix *b,
                         const float *before) {
    double *want = widen(before, call->m * call->n);
    const bool is_added = call->accumulate || call->addend.data != NULL;
    for (size_t i = 0; i < call->m; i++) {
        for (size_t j = 0; j < call->n; j++) {
            double sum = 0;
            for (size_t l = 0; l < call->k; l++) {
                double left = call->kind == TIDE_MATMUL_TN ? element(a, l, i, call->m)
                                                           : element(a, i, l, call->k);
                double right = call->kind == TIDE_MATMUL_NT ? element(b, j, l, call->k)
                                                            : element(b, l, j, call->n);
                sum += left * right;
            }
            want[i * call->n + j] = sum + (is_added ? want[i * call->n + j] : 0);
        }
    }
    return want;
}

/* The types that the model multiplies: fp32, and bf16 with fp32 or bf16 results. */
static const tide_dtype TYPES[][3] = {{TIDE_FP32, TIDE_FP32, TIDE_FP32},
                                      {TIDE_FP32, TIDE_BF16, TIDE_BF16},
                                      {TIDE_BF16, TIDE_BF16, TIDE_BF16},
                                      {TIDE_BF16, TIDE_FP32, TIDE_BF16}};
enum { N_TYPES = sizeof(TYPES) / sizeof(TYPES[0]) };

/* Rounding to bf16 once: each element by at most 2^-8 of its size. */
static const double BF16_ROUNDOFF = 1.0 / 256;

static void check(tide_ops *ops, tide_matmul_kind kind, const size_t size[3],
                  const tide_dtype types[3], adds_to adds) {
    size_t m = size[0];
    size_t n = size[1];
    size_t k = size[2];
    matrix out = make_matrix(m * n, 3, types[0]);
    matrix a = make_matrix(m * k, 1, types[1]);
    matrix b = make_matrix(k * n, 2, types[2]);
    matrix addend = make_matrix(m * n, 4, types[0]);
    tide_matmul call = {kind, out.array, a.array, b.array, m, n, k, adds == ADDS_TO_OUT, {0}};
    if (adds == ADDS_TO_ANOTHER) {
        call.addend = addend.array;
    }
    double *want = reference(&call, &a, &b, adds == ADDS_TO_ANOTHER ? addend.values : out.values);
    if (adds != ADDS_TO_OUT) { /* the old content must not be read */
        memset(out.array.data, 0xFF, m * n * tide_dtype_bytes(types[0]));
    }
    assert_int_equal(ops->table->matmul(ops, &call, NULL), TIDE_OK);
    char what[120];
    (void)snprintf(what, sizeof(what), "%s: matmul kind %d (%zu, %zu, %zu) types %d %d %d%s",
                   ops->table->describe(ops), (int)kind, m, n, k, (int)types[0], (int)types[1],
                   (int)types[2],
                   adds == ADDS_TO_OUT       ? " accumulate"
                   : adds == ADDS_TO_ANOTHER ? " addend"
                                             : "");
    /* k products, and one rounding each of the product and of the addend. */
    assert_close(what, read_matrix(&out), want, m * n,
                 sum_tolerance(k, 2) + (types[0] == TIDE_BF16 ? BF16_ROUNDOFF : 0));
    free(want);
    free_matrix(&addend);
    free_matrix(&b);
    free_matrix(&a);
    free_matrix(&out);
}

static void check_all(tide_ops *ops) {
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        for (int kind = 0; kind < 3; kind++) {
            for (size_t t = 0; t < N_TYPES; t++) {
                for (int adds = 0; adds < N_ADDS_TO; adds++) {
                    check(ops, (tide_matmul_kind)kind, SIZES[i], TYPES[t], (adds_to)adds);
                }
            }
        }
    }
}

/* Spelt as in the documentation of the environment variable. */
static const char *name_of(const tide_cpu_kernels *kernels) {
    return strcmp(kernels->name, "AVX-512") == 0 ? "avx512" : kernels->name;
}

/* On every instruction set of this machine. */
static void products(void **state) {
    ops_fixture *fixture = *state;
    const tide_cpu_kernels *const *available = tide_cpu_kernels_available();
    for (size_t i = 0; available[i] != NULL; i++) {
        tide_ops *ops = NULL;
        assert_int_equal(setenv("TIDEMARK_CPU_KERNELS", name_of(available[i]), 1), 0);
        assert_int_equal(tide_ops_open(tide_hostmem_default(), fixture->device,
                                       TIDE_PRECISION_BF16_MIXED, &ops, NULL),
                         TIDE_OK);
        assert_memory_equal(ops->table->describe(ops), available[i]->name,
                            strlen(available[i]->name));
        check_all(ops);
        tide_ops_close(ops);
    }
    assert_int_equal(unsetenv("TIDEMARK_CPU_KERNELS"), 0);
}

/* More rows, columns and products than one block has: 1024, 2048 and 384. */
static void several_blocks(void **state) {
    static const size_t SHAPES[][3] = {{1030, 40, 50}, {20, 2060, 30}, {33, 30, 1200}};
    for (size_t i = 0; i < 3; i++) {
        for (size_t t = 0; t < N_TYPES; t++) {
            check(fixture_ops(state), (tide_matmul_kind)i, SHAPES[i], TYPES[t],
                  (adds_to)((i + t) % N_ADDS_TO));
        }
    }
}

/* A product with the wrong operand transposed must not pass. */
static void wrong_transpose_is_rejected(void **state) {
    tide_ops *ops = fixture_ops(state);
    enum { N = 33 };
    matrix a = make_matrix((size_t)N * N, 1, TIDE_FP32);
    matrix b = make_matrix((size_t)N * N, 2, TIDE_FP32);
    matrix out = make_matrix((size_t)N * N, 3, TIDE_FP32);
    tide_matmul call = {TIDE_MATMUL_NT, out.array, a.array, b.array, N, N, N, false, {0}};
    double *want = reference(&call, &a, &b, out.values);
    call.kind = TIDE_MATMUL_NN;
    assert_int_equal(ops->table->matmul(ops, &call, NULL), TIDE_OK);
    assert_rejected("wrong transpose", out.values, want, (size_t)N * N, sum_tolerance(N, 2));
    free(want);
    free_matrix(&out);
    free_matrix(&b);
    free_matrix(&a);
}

/* As `tidemark devices` and reports print them. */
static void kernels_go_by_their_printed_names(void **state) {
    (void)state;
    const tide_cpu_kernels *const *available = tide_cpu_kernels_available();
    for (size_t i = 0; available[i] != NULL; i++) {
        const tide_cpu_kernels *chosen = NULL;
        assert_int_equal(setenv("TIDEMARK_CPU_KERNELS", available[i]->name, 1), 0);
        assert_int_equal(tide_cpu_kernels_choose(&chosen, NULL), TIDE_OK);
        assert_ptr_equal(chosen, available[i]);
    }
    assert_int_equal(unsetenv("TIDEMARK_CPU_KERNELS"), 0);
}

static void other_kernels_are_refused(void **state) {
    ops_fixture *fixture = *state;
    tide_ops *ops = NULL;
    tide_error error = {""};
    assert_int_equal(setenv("TIDEMARK_CPU_KERNELS", "neon1024", 1), 0);
    assert_int_equal(
        tide_ops_open(tide_hostmem_default(), fixture->device, TIDE_PRECISION_FP32, &ops, &error),
        TIDE_DEVICE_ABSENT);
    assert_int_equal(unsetenv("TIDEMARK_CPU_KERNELS"), 0);
    assert_non_null(strstr(error.message, "neon1024"));
    assert_non_null(strstr(error.message, "TIDEMARK_CPU_KERNELS"));
    assert_null(ops);
}

static void tf32_is_refused(void **state) {
    ops_fixture *fixture = *state;
    tide_ops *ops = NULL;
    tide_error error = {""};
    assert_int_equal(
        tide_ops_open(tide_hostmem_default(), fixture->device, TIDE_PRECISION_TF32, &ops, &error),
        TIDE_UNSUPPORTED);
    assert_null(ops);
    assert_non_null(strstr(error.message, "tensor cores"));
    assert_non_null(strstr(error.message, "--device virtual"));
    assert_null(strchr(error.message, '\n'));
}

static void other_types_and_sizes_are_refused(void **state) {
    tide_ops *ops = fixture_ops(state);
    tide_error error = {""};
    tide_matmul call = {.a = {NULL, TIDE_INT32}, .m = 1, .n = 1, .k = 1};
    assert_int_equal(ops->table->matmul(ops, &call, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "matmul: array 2 of 3 is int32"));
    call = (tide_matmul){.m = 1, .n = (size_t)INT_MAX + 1, .k = 1};
    assert_int_equal(ops->table->matmul(ops, &call, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "2147483648"));
    call = (tide_matmul){.m = 1, .n = 1, .k = 0};
    assert_int_equal(ops->table->matmul(ops, &call, &error), TIDE_LIMIT);
    float x[2] = {0};
    call = (tide_matmul){.out = {x, TIDE_FP32}, .m = 1, .n = 1, .k = 1, .addend = {x, TIDE_BF16}};
    assert_int_equal(ops->table->matmul(ops, &call, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "the addend is bf16 and out is fp32"));
    call.addend.dtype = TIDE_FP32;
    assert_int_equal(ops->table->matmul(ops, &call, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "set accumulate"));
    call.addend.data = &x[1];
    call.accumulate = true;
    assert_int_equal(ops->table->matmul(ops, &call, &error), TIDE_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(several_blocks),
        cmocka_unit_test(wrong_transpose_is_rejected),
        cmocka_unit_test(kernels_go_by_their_printed_names),
        cmocka_unit_test(other_kernels_are_refused),
        cmocka_unit_test(tf32_is_refused),
        cmocka_unit_test(other_types_and_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
