/* test_ops_threads.c - the operators give the same bits for any number of threads, on fp32 arrays
 * and on bf16 arrays. */
#include "ops_support.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* More tiles, heads, groups of rows and chunks than threads, and all of them uneven. */
enum { B = 2, T = 150, H = 3, D = 22, C = H * D, R = B * T, V = 301, F = 530, N_PARTS = 33 };

/* All results with one number of threads. */
typedef struct results {
    tide_dtype dtype;           /* of every array */
    tide_array x;               /* owned; the numbers that operators read: R * F + 100 */
    tide_array arrays[N_PARTS]; /* owned; the numbers that they write */
    size_t n_elements[N_PARTS]; /* of each */
} results;

/* Part i of n numbers; random at first, so that operators that accumulate add to something. */
static tide_array part(results *all, size_t i, size_t n) {
    all->arrays[i] = random_stored(all->dtype, n, 100 + i, 1);
    all->n_elements[i] = n;
    return all->arrays[i];
}

/* The operators' inputs, from element `at` on. */
static tide_array from(const results *all, size_t at) {
    return (tide_array){(char *)all->x.data + at * tide_dtype_bytes(all->dtype), all->dtype};
}

static void run_matmuls(tide_ops *ops, results *all) {
    for (size_t kind = 0; kind < 3; kind++) {
        tide_matmul call = {(tide_matmul_kind)kind,
                            part(all, kind, (size_t)R * F),
                            from(all, 0),
                            from(all, 0),
                            R,
                            F,
                            C,
                            true,
                            {0}};
        assert_int_equal(ops->table->matmul(ops, &call, NULL), TIDE_OK);
    }
    /* Partial panels at the edges, and one block of k. */
    tide_matmul small = {TIDE_MATMUL_NT,
                         part(all, 3, (size_t)200 * 200),
                         from(all, 0),
                         from(all, 0),
                         200,
                         200,
                         150,
                         false,
                         {0}};
    assert_int_equal(ops->table->matmul(ops, &small, NULL), TIDE_OK);
    small.out = part(all, 28, (size_t)200 * 200);
    small.addend = from(all, 3);
    assert_int_equal(ops->table->matmul(ops, &small, NULL), TIDE_OK);
}

/* Parts `first` to `first` + 3. */
static void run_attention(tide_ops *ops, tide_attention kind, results *all, size_t first) {
    float *lse = zeros((size_t)R * H);
    float *scratch = zeros((size_t)R * H);
    tide_array probs = random_stored(all->dtype, (size_t)R * H * T, 1, 1);
    tide_array dprobs = random_stored(all->dtype, (size_t)R * H * T, 1, 1);
    tide_attention_forward forward = {.kind = kind,
                                      .out = part(all, first, (size_t)R * C),
                                      .q = from(all, 0),
                                      .k = from(all, 7),
                                      .v = from(all, 19),
                                      .lse = lse,
                                      .probs = probs,
                                      .B = B,
                                      .T = T,
                                      .H = H,
                                      .D = D};
    assert_int_equal(ops->table->attention_forward(ops, &forward, NULL), TIDE_OK);
    tide_attention_backward backward = {.kind = kind,
                                        .dq = part(all, first + 1, (size_t)R * C),
                                        .dk = part(all, first + 2, (size_t)R * C),
                                        .dv = part(all, first + 3, (size_t)R * C),
                                        .dout = from(all, 3),
                                        .out = forward.out,
                                        .q = forward.q,
                                        .k = forward.k,
                                        .v = forward.v,
                                        .lse = lse,
                                        .probs = forward.probs,
                                        .dprobs = dprobs,
                                        .scratch = scratch,
                                        .B = B,
                                        .T = T,
                                        .H = H,
                                        .D = D};
    assert_int_equal(ops->table->attention_backward(ops, &backward, NULL), TIDE_OK);
    free(dprobs.data);
    free(probs.data);
    free(scratch);
    free(lse);
}

static void run_rows(tide_ops *ops, results *all) {
    float *scratch = zeros(tide_ops_rmsnorm_scratch_elements(R, C));
    float *rstd = random_floats(R, 5, 1);
    int32_t *tokens = calloc(R, sizeof(*tokens));
    assert_non_null(tokens);
    tide_random random = {1, 2};
    assert_int_equal(
        ops->table->fill_tokens(
            ops, &(tide_fill_tokens){.out = tokens, .bound = V, .random = random, .n = R}, NULL),
        TIDE_OK);
    tide_rmsnorm_backward norm = {part(all, 8, (size_t)R * C),
                                  part(all, 9, C),
                                  from(all, 0),
                                  from(all, 11),
                                  from(all, 5),
                                  rstd,
                                  scratch,
                                  R,
                                  C,
                                  true};
    assert_int_equal(ops->table->rmsnorm_backward(ops, &norm, NULL), TIDE_OK);
    assert_int_equal(ops->table->embedding_backward(
                         ops,
                         &(tide_embedding_backward){.dtable = part(all, 10, (size_t)V * C),
                                                    .dout = from(all, 0),
                                                    .tokens = tokens,
                                                    .R = R,
                                                    .C = C,
                                                    .V = V},
                         NULL),
                     TIDE_OK);
    tide_cross_entropy loss = {
        part(all, 11, (size_t)R * V), rstd, part(all, 12, 1).data, tokens, R, V, 1};
    assert_int_equal(ops->table->cross_entropy(ops, &loss, NULL), TIDE_OK);
    const tide_rmsnorm_forward forward = {
        part(all, 24, (size_t)R * C), rstd, from(all, 0), from(all, 5), R, C};
    assert_int_equal(ops->table->rmsnorm_forward(ops, &forward, NULL), TIDE_OK);
    assert_int_equal(
        ops->table->embedding_forward(ops,
                                      &(tide_embedding_forward){.out = part(all, 25, (size_t)R * C),
                                                                .table = from(all, 0),
                                                                .tokens = tokens,
                                                                .R = R,
                                                                .C = C},
                                      NULL),
        TIDE_OK);
    float *table = random_floats((size_t)T * D, 6, 1);
    assert_int_equal(
        ops->table->rope(
            ops,
            &(tide_rope){
                .x = part(all, 26, (size_t)R * C), .table = table, .B = B, .T = T, .H = H, .D = D},
            NULL),
        TIDE_OK);
    free(table);
    free(tokens);
    free(rstd);
    free(scratch);
}

static void run_norm(tide_ops *ops, results *all) {
    enum { N = 3 * TIDE_NORM_CHUNK + 77 };
    tide_array gradient = part(all, 27, N);
    const tide_random random = {3, 4};
    assert_int_equal(
        ops->table->fill_normal(
            ops, &(tide_fill_normal){.out = gradient, .sigma = 1, .random = random, .n = N}, NULL),
        TIDE_OK);
    const tide_parameter_arrays parameters[2] = {{.gradient = from(all, 0), .n_elements = 501},
                                                 {.gradient = gradient, .n_elements = N}};
    float *scratch = zeros(tide_ops_norm_scratch_elements(parameters, 2));
    float *norm = part(all, 13, 1).data;
    assert_int_equal(ops->table->global_norm(ops,
                                             &(tide_global_norm){.parameters = parameters,
                                                                 .n_parameters = 2,
                                                                 .scratch = scratch,
                                                                 .norm = norm},
                                             NULL),
                     TIDE_OK);
    assert_int_equal(ops->table->clip(ops,
                                      &(tide_clip){.parameters = parameters + 1,
                                                   .n_parameters = 1,
                                                   .norm = norm,
                                                   .max_norm = 0.7},
                                      NULL),
                     TIDE_OK);
    free(scratch);
}

/* Elementwise loops: a thread's share must end at a whole vector register. */
static void run_elements(tide_ops *ops, results *all) {
    enum { N = R * F - 3 };
    assert_int_equal(ops->table->swiglu_forward(ops,
                                                &(tide_swiglu_forward){.out = part(all, 18, N),
                                                                       .gate = from(all, 0),
                                                                       .up = from(all, 1),
                                                                       .n = N},
                                                NULL),
                     TIDE_OK);
    assert_int_equal(ops->table->swiglu_backward(ops,
                                                 &(tide_swiglu_backward){.dgate = part(all, 19, N),
                                                                         .dup = part(all, 20, N),
                                                                         .dout = from(all, 2),
                                                                         .gate = from(all, 0),
                                                                         .up = from(all, 1),
                                                                         .n = N},
                                                 NULL),
                     TIDE_OK);
    tide_adamw_settings adamw;
    tide_adamw_settings_init(&adamw);
    tide_parameter_arrays parameter = {.parameter = part(all, 21, N),
                                       .gradient = from(all, 0),
                                       .exp_avg = part(all, 22, N),
                                       .exp_avg_sq = part(all, 23, N),
                                       .n_elements = N};
    assert_int_equal(
        ops->table->fill(ops, &(tide_fill){.out = parameter.exp_avg_sq, .value = 0.25, .n = N},
                         NULL),
        TIDE_OK);
    assert_int_equal(
        ops->table->adamw(
            ops,
            &(tide_adamw){.settings = adamw, .t = 1, .parameters = &parameter, .n_parameters = 1},
            NULL),
        TIDE_OK);
}

/* The operators of the micro-benchmarks. */
static void run_micro(tide_ops *ops, results *all) {
    enum { N = R * F - 3, ROWS = 307, COLUMNS = 500 };
    assert_int_equal(
        ops->table->gelu_forward(
            ops, &(tide_gelu_forward){.out = part(all, 29, N), .x = from(all, 0), .n = N}, NULL),
        TIDE_OK);
    assert_int_equal(ops->table->gelu_backward(ops,
                                               &(tide_gelu_backward){.dx = part(all, 30, N),
                                                                     .dout = from(all, 2),
                                                                     .x = from(all, 0),
                                                                     .n = N},
                                               NULL),
                     TIDE_OK);
    const tide_layernorm_forward norm = {
        part(all, 31, (size_t)R * C), from(all, 0), from(all, 5), from(all, 9), R, C};
    assert_int_equal(ops->table->layernorm_forward(ops, &norm, NULL), TIDE_OK);
    const tide_gemv product = {.out = part(all, 32, ROWS),
                               .weight = from(all, 0),
                               .x = from(all, 3),
                               .n_chosen = 1,
                               .m = ROWS,
                               .k = COLUMNS};
    assert_int_equal(ops->table->gemv(ops, &product, NULL), TIDE_OK);
}

static void run_all(tide_device *device, tide_dtype dtype, int n_threads, results *all) {
    tide_precision precision = dtype == TIDE_BF16 ? TIDE_PRECISION_BF16_TRUE : TIDE_PRECISION_FP32;
    tide_ops *ops = NULL;
#ifdef _OPENMP
    int before = omp_get_max_threads();
    omp_set_num_threads(n_threads);
#else
    (void)n_threads;
#endif
    assert_int_equal(tide_ops_open(tide_hostmem_default(), device, precision, &ops, NULL), TIDE_OK);
#ifdef _OPENMP
    omp_set_num_threads(before);
#endif
    all->dtype = dtype;
    all->x = random_stored(dtype, (size_t)R * F + 100, 1, 1);
    run_matmuls(ops, all);
    run_attention(ops, TIDE_ATTENTION_FLASH, all, 4);
    run_attention(ops, TIDE_ATTENTION_NAIVE, all, 14);
    run_rows(ops, all);
    run_norm(ops, all);
    run_elements(ops, all);
    run_micro(ops, all);
    tide_ops_close(ops);
}

static void free_results(results *all) {
    for (size_t i = 0; i < N_PARTS; i++) {
        free(all->arrays[i].data);
    }
    free(all->x.data);
}

static void check_same_bits(tide_device *device, tide_dtype dtype) {
    results one;
    run_all(device, dtype, 1, &one);
    static const int N_THREADS[] = {2, 3, 4};
    for (size_t t = 0; t < sizeof(N_THREADS) / sizeof(N_THREADS[0]); t++) {
        results many;
        run_all(device, dtype, N_THREADS[t], &many);
        for (size_t i = 0; i < N_PARTS; i++) { /* four bytes each: 0 beyond the bf16 bytes */
            if (memcmp(one.arrays[i].data, many.arrays[i].data,
                       one.n_elements[i] * sizeof(float)) != 0) {
                fail_msg("part %zu differs between 1 and %d threads", i, N_THREADS[t]);
            }
        }
        free_results(&many);
    }
    free_results(&one);
}

static void same_bits_of_fp32(void **state) {
    check_same_bits(((ops_fixture *)*state)->device, TIDE_FP32);
}

static void same_bits_of_bf16(void **state) {
    check_same_bits(((ops_fixture *)*state)->device, TIDE_BF16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits_of_fp32),
                                       cmocka_unit_test(same_bits_of_bf16)};
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
