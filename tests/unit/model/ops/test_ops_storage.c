/* test_ops_storage.c - the elementwise and row operators of the cpu device on fp32 and bf16 arrays,
 * in every combination: compared with double, computed from the stored numbers. A bf16 result must
 * be within half a unit in its last place, that is, rounded once. int32 is refused. */
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The third size is more than a piece, the last one more than a chunk. */
static const size_t SIZES[] = {1, 33, 1025, 40001};
enum { N_SIZES = sizeof(SIZES) / sizeof(SIZES[0]) };

/* Rows of one piece and of three, groups of rows of more than one, blocks of an embedding. */
static const size_t SHAPES[][2] = {{1, 1}, {31, 33}, {65, 2050}, {300, 10}};
enum { N_SHAPES = sizeof(SHAPES) / sizeof(SHAPES[0]) };

static int32_t *some_tokens(size_t n, size_t bound) {
    int32_t *tokens = malloc(n * sizeof(*tokens));
    assert_non_null(tokens);
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (int32_t)(i * 7919 % bound);
    }
    return tokens;
}

static void check_swiglu_forward(tide_ops *ops, size_t n, unsigned combination) {
    operands all = {.n = 0};
    for (size_t i = 0; i < 3; i++) { /* out, gate, up */
        add_operand(&all, combination, n, 4);
    }
    for (size_t i = 0; i < n; i++) {
        all.want[0][i] = all.wide[1][i] / (1 + exp(-all.wide[1][i])) * all.wide[2][i];
    }
    assert_int_equal(ops->table->swiglu_forward(
                         ops,
                         &(tide_swiglu_forward){
                             .out = all.array[0], .gate = all.array[1], .up = all.array[2], .n = n},
                         NULL),
                     TIDE_OK);
    assert_stored("swiglu", all.array[0], all.want[0], n, sum_tolerance(0, 12));
    free_operands(&all);
}

static void check_swiglu_backward(tide_ops *ops, size_t n, unsigned combination) {
    operands all = {.n = 0};
    for (size_t i = 0; i < 5; i++) { /* dgate, dup, dout, gate, up */
        add_operand(&all, combination, n, 4);
    }
    for (size_t i = 0; i < n; i++) {
        double g = all.wide[3][i];
        double s = 1 / (1 + exp(-g));
        all.want[0][i] = all.wide[2][i] * all.wide[4][i] * s * (1 + g * (1 - s));
        all.want[1][i] = all.wide[2][i] * g * s;
    }
    const tide_array *array = all.array;
    assert_int_equal(ops->table->swiglu_backward(ops,
                                                 &(tide_swiglu_backward){.dgate = array[0],
                                                                         .dup = array[1],
                                                                         .dout = array[2],
                                                                         .gate = array[3],
                                                                         .up = array[4],
                                                                         .n = n},
                                                 NULL),
                     TIDE_OK);
    assert_stored("swiglu's dgate", array[0], all.want[0], n, sum_tolerance(0, 12));
    assert_stored("swiglu's dup", array[1], all.want[1], n, sum_tolerance(0, 12));
    free_operands(&all);
}

static void swiglu(void **state) {
    for (size_t s = 0; s < N_SIZES; s++) {
        for (unsigned combination = 0; combination < 1U << 5; combination++) {
            check_swiglu_backward(fixture_ops(state), SIZES[s], combination);
            if (combination < 1U << 3) {
                check_swiglu_forward(fixture_ops(state), SIZES[s], combination);
            }
        }
    }
}

/* One rounding. */
static void check_cast(tide_ops *ops, size_t n, unsigned combination) {
    operands all = {.n = 0};
    add_operand(&all, combination, n, 1);
    add_operand(&all, combination, n, 1);
    assert_int_equal(
        ops->table->cast(ops, &(tide_cast){.out = all.array[0], .x = all.array[1], .n = n}, NULL),
        TIDE_OK);
    assert_stored("cast", all.array[0], all.wide[1], n, 0);
    free_operands(&all);
}

static void casts(void **state) {
    for (size_t s = 0; s < N_SIZES; s++) {
        for (unsigned combination = 0; combination < 1U << 2; combination++) {
            check_cast(fixture_ops(state), SIZES[s], combination);
        }
    }
}

static void fills(void **state) {
    tide_ops *ops = fixture_ops(state);
    enum { N = 40001 };
    tide_array narrow = random_stored(TIDE_BF16, N, 1, 1);
    tide_array wide = random_stored(TIDE_FP32, N, 1, 1);
    const tide_random random = {42, 3};
    assert_int_equal(
        ops->table->fill_normal(
            ops, &(tide_fill_normal){.out = wide, .sigma = 0.02, .random = random, .n = N}, NULL),
        TIDE_OK);
    assert_int_equal(
        ops->table->fill_normal(
            ops, &(tide_fill_normal){.out = narrow, .sigma = 0.02, .random = random, .n = N}, NULL),
        TIDE_OK);
    for (size_t i = 0; i < N; i++) { /* the fp32 numbers, rounded */
        assert_int_equal(((uint16_t *)narrow.data)[i],
                         nearest_bf16((double)((float *)wide.data)[i]));
    }
    /* All except the last one, which must not change. */
    uint16_t last = ((uint16_t *)narrow.data)[N - 1];
    assert_int_equal(
        ops->table->fill(ops, &(tide_fill){.out = narrow, .value = 0.3, .n = N - 1}, NULL),
        TIDE_OK);
    for (size_t i = 0; i < N - 1; i++) {
        assert_int_equal(((uint16_t *)narrow.data)[i], nearest_bf16(0.3));
    }
    assert_int_equal(((uint16_t *)narrow.data)[N - 1], last);
    free(wide.data);
    free(narrow.data);
}

static void check_norm_forward(tide_ops *ops, size_t R, size_t C, unsigned combination) {
    operands all = {.n = 0};
    add_operand(&all, combination, R * C, 1); /* out */
    add_operand(&all, combination, R * C, 2); /* x */
    add_operand(&all, combination, C, 1);     /* weight */
    double *want_rstd = calloc(R, sizeof(*want_rstd));
    assert_non_null(want_rstd);
    for (size_t r = 0; r < R; r++) {
        double sum = 0;
        for (size_t i = r * C; i < (r + 1) * C; i++) {
            sum += all.wide[1][i] * all.wide[1][i];
        }
        want_rstd[r] = 1 / sqrt(sum / (double)C + 1e-5);
        for (size_t i = r * C; i < (r + 1) * C; i++) {
            all.want[0][i] = all.wide[1][i] * want_rstd[r] * all.wide[2][i % C];
        }
    }
    float *rstd = zeros(R);
    const tide_rmsnorm_forward call = {all.array[0], rstd, all.array[1], all.array[2], R, C};
    assert_int_equal(ops->table->rmsnorm_forward(ops, &call, NULL), TIDE_OK);
    assert_stored("rmsnorm", all.array[0], all.want[0], R * C, sum_tolerance(0, 3));
    assert_stored("rstd", fp32(rstd), want_rstd, R, sum_tolerance(0, 1));
    free(rstd);
    free(want_rstd);
    free_operands(&all);
}

/* dx, dweight, dout, x, weight with rstd. */
static void norm_gradients(operands *all, const float *rstd, size_t R, size_t C, bool accumulate) {
    memset(all->want[1], 0, C * sizeof(double));
    for (size_t r = 0; r < R; r++) {
        double mean = 0;
        for (size_t i = r * C; i < (r + 1) * C; i++) {
            double normed = all->wide[3][i] * (double)rstd[r];
            mean += all->wide[2][i] * all->wide[4][i % C] * normed / (double)C;
            all->want[1][i % C] += all->wide[2][i] * normed;
        }
        for (size_t i = r * C; i < (r + 1) * C; i++) {
            double normed = all->wide[3][i] * (double)rstd[r];
            all->want[0][i] =
                (accumulate ? all->wide[0][i] : 0) +
                (double)rstd[r] * (all->wide[2][i] * all->wide[4][i % C] - normed * mean);
        }
    }
}

static void check_norm_backward(tide_ops *ops, size_t R, size_t C, unsigned combination) {
    operands all = {.n = 0};
    add_operand(&all, combination, R * C, 1); /* dx */
    add_operand(&all, combination, C, 1);     /* dweight */
    add_operand(&all, combination, R * C, 1); /* dout */
    add_operand(&all, combination, R * C, 2); /* x */
    add_operand(&all, combination, C, 1);     /* weight */
    float *rstd = zeros(R);
    for (size_t r = 0; r < R; r++) {
        rstd[r] = 0.7F + 0.1F * (float)(r % 5);
    }
    float *scratch = zeros(tide_ops_rmsnorm_scratch_elements(R, C));
    bool accumulate = combination % 3 != 0;
    norm_gradients(&all, rstd, R, C, accumulate);
    const tide_rmsnorm_backward call = {
        all.array[0], all.array[1], all.array[2], all.array[3], all.array[4], rstd, scratch, R, C,
        accumulate};
    assert_int_equal(ops->table->rmsnorm_backward(ops, &call, NULL), TIDE_OK);
    /* Terms may be as large as 1.1^2 * 2 while their sum is smaller. */
    assert_stored("rmsnorm's dx", all.array[0], all.want[0], R * C, sum_tolerance(0, 24));
    assert_stored("rmsnorm's dweight", all.array[1], all.want[1], C, sum_tolerance(R, 3));
    free(scratch);
    free(rstd);
    free_operands(&all);
}

static void rmsnorm(void **state) {
    for (size_t s = 0; s < N_SHAPES; s++) {
        for (unsigned combination = 0; combination < 1U << 5; combination++) {
            check_norm_backward(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], combination);
            if (combination < 1U << 3) {
                check_norm_forward(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], combination);
            }
        }
    }
}

/* Heads shorter than a piece, of which a piece holds several, and one head that is longer. */
static void rope(void **state) {
    tide_ops *ops = fixture_ops(state);
    static const size_t SHAPE[][4] = {{2, 7, 5, 10}, {1, 3, 40, 64}, {2, 3, 2, 2052}};
    for (size_t s = 0; s < sizeof(SHAPE) / sizeof(SHAPE[0]); s++) {
        size_t T = SHAPE[s][1];
        size_t HD = SHAPE[s][2] * SHAPE[s][3];
        size_t D = SHAPE[s][3];
        size_t n = SHAPE[s][0] * T * HD;
        float *table = zeros(T * D);
        assert_int_equal(
            ops->table->fill_rope(
                ops, &(tide_fill_rope){.table = table, .T = T, .D = D, .theta = 10000}, NULL),
            TIDE_OK);
        for (unsigned combination = 0; combination < 4; combination++) {
            operands all = {.n = 0};
            double sign = combination < 2 ? 1 : -1;
            add_operand(&all, combination, n, 1);
            for (size_t i = 0; i < n; i += 2) {
                size_t at = i / HD % T * (D / 2) + i % D / 2;
                double cosine = (double)table[at];
                double sine = sign * (double)table[T * (D / 2) + at];
                all.want[0][i] = cosine * all.wide[0][i] - sine * all.wide[0][i + 1];
                all.want[0][i + 1] = sine * all.wide[0][i] + cosine * all.wide[0][i + 1];
            }
            assert_int_equal(ops->table->rope(ops,
                                              &(tide_rope){.x = all.array[0],
                                                           .table = table,
                                                           .B = SHAPE[s][0],
                                                           .T = T,
                                                           .H = SHAPE[s][2],
                                                           .D = D,
                                                           .inverse = sign < 0},
                                              NULL),
                             TIDE_OK);
            assert_stored("rope", all.array[0], all.want[0], n, sum_tolerance(0, 3));
            free_operands(&all);
        }
        free(table);
    }
}

/* Many rows hit the same few words: a sum in bf16 would be wrong in its first digits. */
static void check_embedding(tide_ops *ops, size_t R, size_t C, size_t V, unsigned combination) {
    operands all = {.n = 0};
    add_operand(&all, combination, R * C, 1); /* out, then dout */
    add_operand(&all, combination, V * C, 1); /* table, then dtable */
    int32_t *tokens = some_tokens(R, V < 9 ? V : 9);
    for (size_t r = 0; r < R && V > 100; r += 3) {
        tokens[r] = (int32_t)(V - 1 - r % 50);
    }
    memset(all.want[1], 0, V * C * sizeof(double));
    for (size_t i = 0; i < R * C; i++) {
        all.want[1][(size_t)tokens[i / C] * C + i % C] += all.wide[0][i];
    }
    assert_int_equal(
        ops->table->embedding_backward(ops,
                                       &(tide_embedding_backward){.dtable = all.array[1],
                                                                  .dout = all.array[0],
                                                                  .tokens = tokens,
                                                                  .R = R,
                                                                  .C = C,
                                                                  .V = V},
                                       NULL),
        TIDE_OK);
    assert_stored("embedding's gradient", all.array[1], all.want[1], V * C, sum_tolerance(R, 0));
    double *table = widen_stored(all.array[1], V * C);
    for (size_t i = 0; i < R * C; i++) {
        all.want[0][i] = table[(size_t)tokens[i / C] * C + i % C];
    }
    assert_int_equal(
        ops->table->embedding_forward(
            ops,
            &(tide_embedding_forward){
                .out = all.array[0], .table = all.array[1], .tokens = tokens, .R = R, .C = C},
            NULL),
        TIDE_OK);
    assert_stored("embedding", all.array[0], all.want[0], R * C, 0);
    free(table);
    free(tokens);
    free_operands(&all);
}

static void embedding(void **state) {
    for (unsigned combination = 0; combination < 1U << 2; combination++) {
        check_embedding(fixture_ops(state), 1, 1, 1, combination);
        check_embedding(fixture_ops(state), 257, 33, 5, combination);
        check_embedding(fixture_ops(state), 200, 300, 151, combination);
        check_embedding(fixture_ops(state), 50, 1100, 64, combination);
    }
}

static void check_cross_entropy(tide_ops *ops, size_t R, size_t V, unsigned combination) {
    operands all = {.n = 0};
    add_operand(&all, combination, R * V, 5);
    int32_t *targets = some_tokens(R, V);
    double *want_losses = calloc(R, sizeof(*want_losses));
    assert_non_null(want_losses);
    double want_loss = 0;
    for (size_t r = 0; r < R; r++) {
        double sum = 0;
        for (size_t i = r * V; i < (r + 1) * V; i++) {
            sum += exp(all.wide[0][i]);
        }
        for (size_t i = r * V; i < (r + 1) * V; i++) {
            double is_target = i - r * V == (size_t)targets[r] ? 1 : 0;
            all.want[0][i] = (exp(all.wide[0][i]) / sum - is_target) / (double)R;
        }
        want_losses[r] = log(sum) - all.wide[0][r * V + (size_t)targets[r]];
        want_loss += want_losses[r] / (double)R;
    }
    float *row_losses = zeros(R);
    float loss = NAN;
    const tide_cross_entropy call = {all.array[0], row_losses, &loss, targets, R, V, 1};
    assert_int_equal(ops->table->cross_entropy(ops, &call, NULL), TIDE_OK);
    /* exp of a difference up to 10, which one rounding moves by 10 u; exp itself 4 u. */
    double tolerance = sum_tolerance(0, 20);
    assert_stored("cross-entropy's gradient", all.array[0], all.want[0], R * V, tolerance);
    assert_stored("row losses", fp32(row_losses), want_losses, R, tolerance);
    assert_stored("loss", fp32(&loss), &want_loss, 1, tolerance);
    free(row_losses);
    free(want_losses);
    free(targets);
    free_operands(&all);
}

static void cross_entropy(void **state) {
    for (unsigned combination = 0; combination < 2; combination++) {
        for (size_t s = 1; s < N_SHAPES; s++) {
            check_cross_entropy(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], combination);
        }
    }
}

/* Expects the status, and a message that names operator and type. */
static void assert_refused(const char *name, tide_status status, const tide_error *error) {
    assert_int_equal(status, TIDE_UNSUPPORTED);
    assert_non_null(strstr(error->message, name));
    assert_non_null(strstr(error->message, "int32"));
    assert_null(strchr(error->message, '\n'));
}

static void rows_of_integers_are_refused(void **state) {
    tide_ops *ops = fixture_ops(state);
    const tide_ops_table *table = ops->table;
    float number = 1;
    int32_t token = 0;
    tide_error error;
    const tide_array f = fp32(&number);
    const tide_array i = {&token, TIDE_INT32};
    const tide_rmsnorm_forward forward = {f, NULL, i, f, 1, 1};
    const tide_rmsnorm_backward backward = {f, f, f, f, i, &number, &number, 1, 1, false};
    const tide_cross_entropy loss = {i, &number, &number, &token, 1, 1, 1};
    assert_refused(
        "embedding",
        table->embedding_forward(
            ops, &(tide_embedding_forward){.out = f, .table = i, .tokens = &token, .R = 1, .C = 1},
            &error),
        &error);
    assert_refused("embedding",
                   table->embedding_backward(
                       ops,
                       &(tide_embedding_backward){
                           .dtable = i, .dout = f, .tokens = &token, .R = 1, .C = 1, .V = 1},
                       &error),
                   &error);
    assert_refused("rmsnorm", table->rmsnorm_forward(ops, &forward, &error), &error);
    assert_refused("rmsnorm", table->rmsnorm_backward(ops, &backward, &error), &error);
    assert_refused(
        "rope",
        table->rope(ops, &(tide_rope){.x = i, .table = &number, .B = 1, .T = 1, .H = 1, .D = 2},
                    &error),
        &error);
    assert_refused("cross_entropy", table->cross_entropy(ops, &loss, &error), &error);
}

static void elements_that_are_integers_are_refused(void **state) {
    tide_ops *ops = fixture_ops(state);
    const tide_ops_table *table = ops->table;
    float number = 1;
    int32_t token = 0;
    tide_error error;
    const tide_array f = fp32(&number);
    const tide_array i = {&token, TIDE_INT32};
    assert_refused("swiglu",
                   table->swiglu_forward(
                       ops, &(tide_swiglu_forward){.out = f, .gate = f, .up = i, .n = 1}, &error),
                   &error);
    assert_refused(
        "swiglu",
        table->swiglu_backward(
            ops,
            &(tide_swiglu_backward){.dgate = f, .dup = f, .dout = f, .gate = f, .up = i, .n = 1},
            &error),
        &error);
    assert_refused("cast", table->cast(ops, &(tide_cast){.out = i, .x = f, .n = 1}, &error),
                   &error);
    assert_refused("fill", table->fill(ops, &(tide_fill){.out = i, .value = 0, .n = 1}, &error),
                   &error);
    assert_refused(
        "fill_normal",
        table->fill_normal(ops, &(tide_fill_normal){.out = i, .sigma = 1, .random = {1, 2}, .n = 1},
                           &error),
        &error);
}

static void parameters_of_integers_are_refused(void **state) {
    tide_ops *ops = fixture_ops(state);
    const tide_ops_table *table = ops->table;
    float number = 1;
    int32_t token = 0;
    tide_error error;
    const tide_array f = fp32(&number);
    const tide_array i = {&token, TIDE_INT32};
    const tide_parameter_arrays parameter = {f, i, f, f, 1};
    assert_refused("global_norm",
                   table->global_norm(ops,
                                      &(tide_global_norm){.parameters = &parameter,
                                                          .n_parameters = 1,
                                                          .scratch = &number,
                                                          .norm = &number},
                                      &error),
                   &error);
    assert_refused("clip",
                   table->clip(ops,
                               &(tide_clip){.parameters = &parameter,
                                            .n_parameters = 1,
                                            .norm = &number,
                                            .max_norm = 1},
                               &error),
                   &error);
    assert_refused("adamw",
                   table->adamw(ops,
                                &(tide_adamw){.t = 1, .parameters = &parameter, .n_parameters = 1},
                                &error),
                   &error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swiglu),
        cmocka_unit_test(casts),
        cmocka_unit_test(fills),
        cmocka_unit_test(rmsnorm),
        cmocka_unit_test(rope),
        cmocka_unit_test(embedding),
        cmocka_unit_test(cross_entropy),
        cmocka_unit_test(rows_of_integers_are_refused),
        cmocka_unit_test(elements_that_are_integers_are_refused),
        cmocka_unit_test(parameters_of_integers_are_refused),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
