/* test_ops_rows.c - operators that work row by row: embedding, RMSNorm, RoPE, cross-entropy. */
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t SHAPES[][2] = {{1, 1},   {1, 257},  {31, 33}, {257, 31},
                                   {65, 10}, {512, 48}, {129, 1}};
enum { N_SHAPES = sizeof(SHAPES) / sizeof(SHAPES[0]) };

static int32_t *random_tokens(size_t n, size_t bound, uint64_t seed) {
    float *x = random_floats(n, seed, 1);
    int32_t *tokens = malloc(n * sizeof(*tokens));
    assert_non_null(tokens);
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (int32_t)((double)bound * ((double)x[i] + 1) / 2);
    }
    free(x);
    return tokens;
}

static void embedding(void **state) {
    tide_ops *ops = fixture_ops(state);
    enum { V = 13 };
    for (size_t s = 0; s < N_SHAPES; s++) {
        size_t R = SHAPES[s][0];
        size_t C = SHAPES[s][1];
        float *table = random_floats(V * C, 1, 1);
        float *dout = random_floats(R * C, 2, 1);
        float *out = zeros(R * C);
        float *dtable = random_floats(V * C, 3, 1); /* must be overwritten */
        int32_t *tokens = random_tokens(R, V, 4);
        double *want = calloc(R * C, sizeof(*want));
        double *want_d = calloc(V * C, sizeof(*want_d));
        assert_non_null(want);
        assert_non_null(want_d);
        for (size_t i = 0; i < R * C; i++) {
            size_t at = (size_t)tokens[i / C] * C + i % C;
            want[i] = (double)table[at];
            want_d[at] += (double)dout[i];
        }
        assert_int_equal(
            ops->table->embedding_forward(
                ops,
                &(tide_embedding_forward){
                    .out = fp32(out), .table = fp32(table), .tokens = tokens, .R = R, .C = C},
                NULL),
            TIDE_OK);
        assert_int_equal(
            ops->table->embedding_backward(ops,
                                           &(tide_embedding_backward){.dtable = fp32(dtable),
                                                                      .dout = fp32(dout),
                                                                      .tokens = tokens,
                                                                      .R = R,
                                                                      .C = C,
                                                                      .V = V},
                                           NULL),
            TIDE_OK);
        assert_close("embedding", out, want, R * C, 0);
        assert_close("embedding's gradient", dtable, want_d, V * C, sum_tolerance(R, 0));
        free(want_d);
        free(want);
        free(tokens);
        free(dtable);
        free(out);
        free(dout);
        free(table);
    }
}

typedef struct norm_case {
    const double *weight, *dout;
    size_t R, C;
} norm_case;

static double rstd_of(const double *x, size_t C) {
    double sum = 0;
    for (size_t c = 0; c < C; c++) {
        sum += x[c] * x[c];
    }
    return 1 / sqrt(sum / (double)C + 1e-5);
}

/* sum(dout * rmsnorm(x)), whose gradient backward must give. */
static double norm_loss(const void *ctx, const double *x) {
    const norm_case *given = ctx;
    double sum = 0;
    for (size_t r = 0; r < given->R; r++) {
        const double *row = x + r * given->C;
        double rstd = rstd_of(row, given->C);
        for (size_t c = 0; c < given->C; c++) {
            sum += given->dout[r * given->C + c] * row[c] * rstd * given->weight[c];
        }
    }
    return sum;
}

static void norm_reference(const norm_case *given, const double *x, double *out, double *dx,
                           double *dweight) {
    size_t C = given->C;
    memset(dweight, 0, C * sizeof(*dweight));
    for (size_t r = 0; r < given->R; r++) {
        double rstd = rstd_of(x + r * C, C);
        double mean = 0;
        for (size_t i = r * C; i < (r + 1) * C; i++) {
            out[i] = x[i] * rstd * given->weight[i % C];
            mean += given->dout[i] * given->weight[i % C] * x[i] * rstd / (double)C;
            dweight[i % C] += given->dout[i] * x[i] * rstd;
        }
        for (size_t i = r * C; i < (r + 1) * C; i++) {
            dx[i] = rstd * (given->dout[i] * given->weight[i % C] - x[i] * rstd * mean);
        }
    }
}

static void check_norm(tide_ops *ops, size_t R, size_t C) {
    size_t n = R * C;
    float *x = random_floats(n, 1, 2);
    float *weight = random_floats(C, 2, 1);
    float *dout = random_floats(n, 3, 1);
    float *out = zeros(n);
    float *dx = zeros(n);
    float *dweight = random_floats(C, 4, 1);
    float *rstd = zeros(R);
    float *scratch = zeros(tide_ops_rmsnorm_scratch_elements(R, C));
    double *wide_x = widen(x, n);
    double *wide_weight = widen(weight, C);
    double *wide_dout = widen(dout, n);
    double *want = widen(x, n);
    double *want_dx = widen(x, n);
    double *want_dweight = widen(weight, C);
    norm_case given = {wide_weight, wide_dout, R, C};
    norm_reference(&given, wide_x, want, want_dx, want_dweight);
    tide_rmsnorm_forward forward = {fp32(out), rstd, fp32(x), fp32(weight), R, C};
    assert_int_equal(ops->table->rmsnorm_forward(ops, &forward, NULL), TIDE_OK);
    /* rstd, x rstd, times weight: three roundings; the sum is taken in double. */
    assert_close("rmsnorm", out, want, n, sum_tolerance(0, 3));
    tide_rmsnorm_backward backward = {fp32(dx), fp32(dweight), fp32(dout), fp32(x), fp32(weight),
                                      rstd,     scratch,       R,          C,       false};
    assert_int_equal(ops->table->rmsnorm_backward(ops, &backward, NULL), TIDE_OK);
    /* Six roundings of terms that may cancel: n mean against dn. One channel cancels wholly but for
     * eps, so its bound is against the terms. */
    if (C > 1) {
        assert_close("rmsnorm's dx", dx, want_dx, n, sum_tolerance(0, 12));
        assert_slope("rmsnorm's dx", norm_loss, &given, wide_x, dx, n, sum_tolerance(0, 12));
    }
    assert_close("rmsnorm's dweight", dweight, want_dweight, C, sum_tolerance(R, 3));
    if (C > 1) { /* once more, accumulating */
        backward.accumulate = true;
        assert_int_equal(ops->table->rmsnorm_backward(ops, &backward, NULL), TIDE_OK);
        for (size_t i = 0; i < n; i++) {
            want_dx[i] *= 2;
        }
        assert_close("rmsnorm's dx, accumulated", dx, want_dx, n, sum_tolerance(0, 12));
        assert_close("rmsnorm's dweight, written again", dweight, want_dweight, C,
                     sum_tolerance(R, 3));
    }
    free(want_dweight);
    free(want_dx);
    free(want);
    free(wide_dout);
    free(wide_weight);
    free(wide_x);
    free(scratch);
    free(rstd);
    free(dweight);
    free(dx);
    free(out);
    free(dout);
    free(weight);
    free(x);
}

static void rmsnorm(void **state) {
    for (size_t s = 0; s < N_SHAPES; s++) {
        check_norm(fixture_ops(state), SHAPES[s][0], SHAPES[s][1]);
    }
    check_norm(fixture_ops(state), 64 * 130 + 5,
               3); /* more rows than the partial sums begin with */
}

/* want (B, T, H, D) = x rotated by the angles of theta 10000. */
static double *rope_reference(const float *x, const size_t shape[4], double sign) {
    size_t T = shape[1];
    size_t H = shape[2];
    size_t D = shape[3];
    double *want = widen(x, shape[0] * T * H * D);
    for (size_t i = 0; i < shape[0] * T * H * D; i += 2) {
        double t = (double)(i / (H * D) % T);
        double angle = sign * t * pow(10000, -(double)(i % D) / (double)D);
        double even = want[i];
        double odd = want[i + 1];
        want[i] = cos(angle) * even - sin(angle) * odd;
        want[i + 1] = sin(angle) * even + cos(angle) * odd;
    }
    return want;
}

static void rope(void **state) {
    tide_ops *ops = fixture_ops(state);
    static const size_t SHAPE[][4] = {{1, 1, 1, 2}, {3, 7, 5, 10}, {2, 257, 1, 64}, {1, 33, 31, 2}};
    for (size_t s = 0; s < sizeof(SHAPE) / sizeof(SHAPE[0]); s++) {
        const size_t *shape = SHAPE[s];
        size_t n = shape[0] * shape[1] * shape[2] * shape[3];
        float *x = random_floats(n, 1, 1);
        float *table = zeros(shape[1] * shape[3]);
        double *want = rope_reference(x, shape, 1);
        double *before = widen(x, n);
        /* Table, two products, their sum. */
        double tolerance = sum_tolerance(0, 3);
        assert_int_equal(
            ops->table->fill_rope(
                ops,
                &(tide_fill_rope){.table = table, .T = shape[1], .D = shape[3], .theta = 10000},
                NULL),
            TIDE_OK);
        assert_int_equal(ops->table->rope(ops,
                                          &(tide_rope){.x = fp32(x),
                                                       .table = table,
                                                       .B = shape[0],
                                                       .T = shape[1],
                                                       .H = shape[2],
                                                       .D = shape[3]},
                                          NULL),
                         TIDE_OK);
        assert_close("rope", x, want, n, tolerance);
        assert_int_equal(ops->table->rope(ops,
                                          &(tide_rope){.x = fp32(x),
                                                       .table = table,
                                                       .B = shape[0],
                                                       .T = shape[1],
                                                       .H = shape[2],
                                                       .D = shape[3],
                                                       .inverse = true},
                                          NULL),
                         TIDE_OK);
        assert_close("rope and back", x, before, n, 2 * tolerance);
        if (shape[1] > 1) { /* the wrong way round must not pass */
            assert_int_equal(ops->table->rope(ops,
                                              &(tide_rope){.x = fp32(x),
                                                           .table = table,
                                                           .B = shape[0],
                                                           .T = shape[1],
                                                           .H = shape[2],
                                                           .D = shape[3],
                                                           .inverse = true},
                                              NULL),
                             TIDE_OK);
            assert_rejected("rope with the sign swapped", x, want, n, tolerance);
        }
        free(before);
        free(want);
        free(table);
        free(x);
    }
}

typedef struct loss_case {
    const int32_t *targets;
    size_t R, V;
} loss_case;

static double row_loss(const double *row, size_t V, size_t target) {
    double max = row[0];
    for (size_t v = 1; v < V; v++) {
        max = fmax(max, row[v]);
    }
    double sum = 0;
    for (size_t v = 0; v < V; v++) {
        sum += exp(row[v] - max);
    }
    return log(sum) + max - row[target];
}

static double mean_loss(const void *ctx, const double *logits) {
    const loss_case *given = ctx;
    double sum = 0;
    for (size_t r = 0; r < given->R; r++) {
        sum += row_loss(logits + r * given->V, given->V, (size_t)given->targets[r]);
    }
    return sum / (double)given->R;
}

static void check_cross_entropy(tide_ops *ops, size_t R, size_t V, double scale) {
    float *logits = random_floats(R * V, 1, scale);
    float *row_losses = zeros(R);
    float loss = NAN;
    int32_t *targets = random_tokens(R, V, 2);
    targets[0] = (int32_t)V - 1;
    double *wide = widen(logits, R * V);
    double *want = widen(logits, R * V);
    double *want_losses = calloc(R, sizeof(*want_losses));
    assert_non_null(want_losses);
    loss_case given = {targets, R, V};
    double want_loss = mean_loss(&given, wide);
    for (size_t r = 0; r < R; r++) {
        double *row = want + r * V;
        want_losses[r] = row_loss(wide + r * V, V, (size_t)targets[r]);
        double log_sum = want_losses[r] + row[targets[r]];
        for (size_t v = 0; v < V; v++) {
            row[v] = exp(row[v] - log_sum) / (double)R;
        }
        row[targets[r]] -= 1 / (double)R;
    }
    tide_cross_entropy call = {fp32(logits), row_losses, &loss, targets, R, V, 1};
    assert_int_equal(ops->table->cross_entropy(ops, &call, NULL), TIDE_OK);
    /* exp of a difference up to 2 scale, which one rounding moves by 2 scale u; exp itself 2 u. */
    double tolerance = sum_tolerance(0, 6 + (size_t)(2 * scale));
    if (V >
        1) { /* with a vocabulary of one word all gradients and losses are 0 except for rounding */
        assert_close("cross-entropy's gradient", logits, want, R * V, tolerance);
        assert_slope("cross-entropy's gradient", mean_loss, &given, wide, logits, R * V, tolerance);
        assert_close("row losses", row_losses, want_losses, R, tolerance);
        assert_close("loss", &loss, &want_loss, 1, tolerance);
    } else {
        assert_true(fabs((double)loss) <= tolerance);
    }
    free(want_losses);
    free(want);
    free(wide);
    free(targets);
    free(row_losses);
    free(logits);
}

static void cross_entropy(void **state) {
    for (size_t s = 0; s < N_SHAPES; s++) {
        check_cross_entropy(fixture_ops(state), SHAPES[s][0], SHAPES[s][1], 1);
    }
    check_cross_entropy(fixture_ops(state), 3, 10007, 5);
    check_cross_entropy(fixture_ops(state), 7, 31, 60); /* exponentials from 1 to e^-120 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedding),
        cmocka_unit_test(rmsnorm),
        cmocka_unit_test(rope),
        cmocka_unit_test(cross_entropy),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
