/* test_ops_threads.c - the operators give the same bits for any number of threads. */
#include "ops_support.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* More tiles, heads, groups of rows and chunks than threads, none of them even. */
enum { B = 2, T = 150, H = 3, D = 22, C = H * D, R = B * T, V = 301, F = 530, N_PARTS = 24 };

/* All that one number of threads gives. */
typedef struct results {
    float *arrays[N_PARTS]; /* owned */
    size_t n_elements[N_PARTS];
} results;

/* Part i of n numbers, random at first so that what accumulates has something to add to. */
static tide_array part(results *all, size_t i, size_t n) {
    all->arrays[i] = random_floats(n, 100 + i, 1);
    all->n_elements[i] = n;
    return fp32(all->arrays[i]);
}

static void run_matmuls(tide_ops *ops, results *all, float *x) {
    for (size_t kind = 0; kind < 3; kind++) {
        tide_matmul call = {(tide_matmul_kind)kind,
                            part(all, kind, (size_t)R * F),
                            fp32(x),
                            fp32(x),
                            R,
                            F,
                            C,
                            true};
        assert_int_equal(ops->table->matmul(ops, &call, NULL), TIDE_OK);
    }
    /* One tile: the only piece must not be spread over the threads by the library. */
    tide_matmul small = {
        TIDE_MATMUL_NT, part(all, 3, (size_t)200 * 200), fp32(x), fp32(x), 200, 200, 150, false};
    assert_int_equal(ops->table->matmul(ops, &small, NULL), TIDE_OK);
}

/* Parts `first` to `first` + 3. */
static void run_attention(tide_ops *ops, tide_attention kind, results *all, size_t first,
                          float *x) {
    float *lse = zeros((size_t)R * H);
    float *scratch = zeros((size_t)R * H);
    float *probs = zeros((size_t)R * H * T);
    float *dprobs = zeros((size_t)R * H * T);
    tide_attention_forward forward = {.kind = kind,
                                      .out = part(all, first, (size_t)R * C),
                                      .q = fp32(x),
                                      .k = fp32(x + 7),
                                      .v = fp32(x + 19),
                                      .lse = lse,
                                      .probs = fp32(probs),
                                      .B = B,
                                      .T = T,
                                      .H = H,
                                      .D = D};
    assert_int_equal(ops->table->attention_forward(ops, &forward, NULL), TIDE_OK);
    tide_attention_backward backward = {.kind = kind,
                                        .dq = part(all, first + 1, (size_t)R * C),
                                        .dk = part(all, first + 2, (size_t)R * C),
                                        .dv = part(all, first + 3, (size_t)R * C),
                                        .dout = fp32(x + 3),
                                        .out = forward.out,
                                        .q = forward.q,
                                        .k = forward.k,
                                        .v = forward.v,
                                        .lse = lse,
                                        .probs = forward.probs,
                                        .dprobs = fp32(dprobs),
                                        .scratch = scratch,
                                        .B = B,
                                        .T = T,
                                        .H = H,
                                        .D = D};
    assert_int_equal(ops->table->attention_backward(ops, &backward, NULL), TIDE_OK);
    free(dprobs);
    free(probs);
    free(scratch);
    free(lse);
}

static void run_rows(tide_ops *ops, results *all, float *x) {
    float *scratch = zeros(tide_ops_rmsnorm_scratch_elements(R, C));
    float *rstd = random_floats(R, 5, 1);
    int32_t *tokens = calloc(R, sizeof(*tokens));
    assert_non_null(tokens);
    tide_random random = {1, 2};
    assert_int_equal(ops->table->fill_tokens(ops, tokens, V, random, R, NULL), TIDE_OK);
    tide_rmsnorm_backward norm = {part(all, 8, (size_t)R * C),
                                  part(all, 9, C),
                                  fp32(x),
                                  fp32(x + 11),
                                  fp32(x + 5),
                                  rstd,
                                  scratch,
                                  R,
                                  C,
                                  true};
    assert_int_equal(ops->table->rmsnorm_backward(ops, &norm, NULL), TIDE_OK);
    assert_int_equal(ops->table->embedding_backward(ops, part(all, 10, (size_t)V * C), fp32(x),
                                                    tokens, R, C, V, NULL),
                     TIDE_OK);
    tide_cross_entropy loss = {
        part(all, 11, (size_t)R * V), rstd, part(all, 12, 1).data, tokens, R, V};
    assert_int_equal(ops->table->cross_entropy(ops, &loss, NULL), TIDE_OK);
    free(tokens);
    free(rstd);
    free(scratch);
}

static void run_norm(tide_ops *ops, results *all) {
    enum { N = 3 * TIDE_NORM_CHUNK + 77 };
    float *gradient = zeros(N);
    tide_random random = {3, 4};
    assert_int_equal(ops->table->fill_normal(ops, fp32(gradient), 1, random, N, NULL), TIDE_OK);
    tide_parameter_arrays parameter = {.gradient = fp32(gradient), .n_elements = N};
    float *scratch = zeros(tide_ops_norm_scratch_elements(&parameter, 1));
    assert_int_equal(
        ops->table->global_norm(ops, &parameter, 1, scratch, part(all, 13, 1).data, NULL), TIDE_OK);
    free(scratch);
    free(gradient);
}

/* Elementwise loops: where one thread's share ends, so does its last whole vector register. */
static void run_elements(tide_ops *ops, results *all, float *x) {
    enum { N = R * F - 3 };
    assert_int_equal(
        ops->table->swiglu_forward(ops, part(all, 18, N), fp32(x), fp32(x + 1), N, NULL), TIDE_OK);
    assert_int_equal(ops->table->swiglu_backward(ops, part(all, 19, N), part(all, 20, N),
                                                 fp32(x + 2), fp32(x), fp32(x + 1), N, NULL),
                     TIDE_OK);
    tide_adamw adamw;
    tide_adamw_init(&adamw);
    adamw.t = 1;
    tide_parameter_arrays parameter = {.parameter = part(all, 21, N),
                                       .gradient = fp32(x),
                                       .exp_avg = part(all, 22, N),
                                       .exp_avg_sq = part(all, 23, N),
                                       .n_elements = N};
    float *second = parameter.exp_avg_sq.data;
    for (size_t i = 0; i < N; i++) { /* a mean of squares */
        second[i] *= second[i];
    }
    assert_int_equal(ops->table->adamw(ops, &adamw, &parameter, 1, NULL), TIDE_OK);
}

static void run_all(tide_device *device, int n_threads, results *all) {
    tide_ops *ops = NULL;
#ifdef _OPENMP
    int before = omp_get_max_threads();
    omp_set_num_threads(n_threads);
    assert_int_equal(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, NULL),
                     TIDE_OK);
    omp_set_num_threads(before);
#else
    (void)n_threads;
    assert_int_equal(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, NULL),
                     TIDE_OK);
#endif
    float *x = random_floats((size_t)R * F + 100, 1, 1);
    run_matmuls(ops, all, x);
    run_attention(ops, TIDE_ATTENTION_FLASH, all, 4, x);
    run_attention(ops, TIDE_ATTENTION_NAIVE, all, 14, x);
    run_rows(ops, all, x);
    run_norm(ops, all);
    run_elements(ops, all, x);
    free(x);
    tide_ops_close(ops);
}

static void free_results(results *all) {
    for (size_t i = 0; i < N_PARTS; i++) {
        free(all->arrays[i]);
    }
}

static void same_bits(void **state) {
    ops_fixture *fixture = *state;
    results one;
    run_all(fixture->device, 1, &one);
    static const int N_THREADS[] = {2, 3, 4};
    for (size_t t = 0; t < sizeof(N_THREADS) / sizeof(N_THREADS[0]); t++) {
        results many;
        run_all(fixture->device, N_THREADS[t], &many);
        for (size_t i = 0; i < N_PARTS; i++) {
            if (memcmp(one.arrays[i], many.arrays[i], one.n_elements[i] * sizeof(float)) != 0) {
                fail_msg("part %zu differs between 1 and %d threads", i, N_THREADS[t]);
            }
        }
        free_results(&many);
    }
    free_results(&one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
