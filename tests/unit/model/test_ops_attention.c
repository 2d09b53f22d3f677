/* test_ops_attention.c - both kinds of causal attention, forward and backward, against a reference
 * in double. */
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    size_t B, T, H, D;
} shape;

/* Around the tiles of 64: below, on and above one, and above two. */
static const shape SHAPES[] = {{1, 1, 1, 2},  {3, 1, 2, 10}, {2, 17, 4, 10}, {1, 64, 1, 8},
                               {1, 65, 3, 6}, {2, 33, 1, 2}, {1, 150, 2, 64}};
enum { N_SHAPES = sizeof(SHAPES) / sizeof(SHAPES[0]) };

static size_t elements(shape s) {
    return s.B * s.T * s.H * s.D;
}

/* Element (b, t, h, 0). */
static size_t at(shape s, size_t b, size_t t, size_t h) {
    return ((b * s.T + t) * s.H + h) * s.D;
}

typedef struct attention_case {
    shape s;
    const double *inputs[3]; /* q, k, v */
    const double *dout;
    int which; /* of the inputs: what the loss is a function of */
} attention_case;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Probabilities (t + 1) of query t, and the log of the sum of exponentials. */
static double probabilities(shape s, const double *q, const double *k, size_t b, size_t h, size_t t,
                            double *probs) {
    double max = -INFINITY;
    for (size_t j = 0; j <= t; j++) {
        probs[j] = dot(q + at(s, b, t, h), k + at(s, b, j, h), s.D) / sqrt((double)s.D);
        max = fmax(max, probs[j]);
    }
    double sum = 0;
    for (size_t j = 0; j <= t; j++) {
        sum += exp(probs[j] - max);
    }
    for (size_t j = 0; j <= t; j++) {
        probs[j] = exp(probs[j] - max) / sum;
    }
    return max + log(sum);
}

typedef struct attention_reference {
    double *out, *lse, *probs, *grads[3];
} attention_reference;

static double *doubles(size_t n) {
    double *x = calloc(n, sizeof(*x));
    assert_non_null(x);
    return x;
}

/* Adds query (b, t, h)'s part to out and to the gradients. */
static void add_query(const attention_case *given, const attention_reference *want, size_t b,
                      size_t t, size_t h) {
    shape s = given->s;
    double *probs = want->probs + ((b * s.H + h) * s.T + t) * s.T;
    want->lse[(b * s.H + h) * s.T + t] =
        probabilities(s, given->inputs[0], given->inputs[1], b, h, t, probs);
    size_t query = at(s, b, t, h);
    double delta = 0;
    for (size_t j = 0; j <= t; j++) {
        size_t key = at(s, b, j, h);
        delta += probs[j] * dot(given->dout + query, given->inputs[2] + key, s.D);
        for (size_t d = 0; d < s.D; d++) {
            want->out[query + d] += probs[j] * given->inputs[2][key + d];
            want->grads[2][key + d] += probs[j] * given->dout[query + d];
        }
    }
    for (size_t j = 0; j <= t; j++) {
        size_t key = at(s, b, j, h);
        double dprob = dot(given->dout + query, given->inputs[2] + key, s.D);
        double dscore = probs[j] * (dprob - delta) / sqrt((double)s.D);
        for (size_t d = 0; d < s.D; d++) {
            want->grads[0][query + d] += dscore * given->inputs[1][key + d];
            want->grads[1][key + d] += dscore * given->inputs[0][query + d];
        }
    }
}

static attention_reference make_reference(const attention_case *given) {
    shape s = given->s;
    size_t n = elements(s);
    attention_reference want = {.out = doubles(n),
                                .lse = doubles(s.B * s.H * s.T),
                                .probs = doubles(s.B * s.H * s.T * s.T),
                                .grads = {doubles(n), doubles(n), doubles(n)}};
    for (size_t i = 0; i < s.B * s.T * s.H; i++) {
        add_query(given, &want, i / s.H / s.T, i / s.H % s.T, i % s.H);
    }
    return want;
}

static void free_reference(attention_reference *want) {
    free(want->out);
    free(want->lse);
    free(want->probs);
    for (int i = 0; i < 3; i++) {
        free(want->grads[i]);
    }
}

static double attention_loss(const void *ctx, const double *x) {
    attention_case given = *(const attention_case *)ctx;
    given.inputs[given.which] = x;
    attention_reference want = make_reference(&given);
    double sum = dot(want.out, given.dout, elements(given.s));
    free_reference(&want);
    return sum;
}

/* What the operator works on. */
typedef struct attention_run {
    float *inputs[3], *grads[3], *dout, *out, *lse, *probs, *dprobs, *scratch;
} attention_run;

static attention_run make_run(shape s) {
    size_t n = elements(s);
    size_t n_probs = s.B * s.H * s.T * s.T;
    attention_run run;
    for (uint64_t i = 0; i < 3; i++) {
        run.inputs[i] = random_floats(n, 1 + i, 2);
        run.grads[i] = random_floats(n, 5, 1); /* must be overwritten */
    }
    run.dout = random_floats(n, 4, 1);
    run.out = random_floats(n, 6, 1);
    run.lse = zeros(s.B * s.H * s.T);
    run.probs = random_floats(n_probs, 7, 1);
    run.dprobs = random_floats(n_probs, 8, 1);
    run.scratch = zeros(s.B * s.H * s.T);
    return run;
}

static void free_run(attention_run *run) {
    for (int i = 0; i < 3; i++) {
        free(run->inputs[i]);
        free(run->grads[i]);
    }
    free(run->dout);
    free(run->out);
    free(run->lse);
    free(run->probs);
    free(run->dprobs);
    free(run->scratch);
}

static void run_forward(tide_ops *ops, tide_attention kind, shape s, const attention_run *run) {
    tide_attention_forward call = {kind,
                                   fp32(run->out),
                                   fp32(run->inputs[0]),
                                   fp32(run->inputs[1]),
                                   fp32(run->inputs[2]),
                                   kind == TIDE_ATTENTION_FLASH ? run->lse : NULL,
                                   fp32(run->probs),
                                   s.B,
                                   s.T,
                                   s.H,
                                   s.D};
    assert_int_equal(ops->table->attention_forward(ops, &call, NULL), TIDE_OK);
}

static void run_backward(tide_ops *ops, tide_attention kind, shape s, const attention_run *run) {
    tide_attention_backward call = {
        .kind = kind,
        .dq = fp32(run->grads[0]),
        .dk = fp32(run->grads[1]),
        .dv = fp32(run->grads[2]),
        .dout = fp32(run->dout),
        .out = kind == TIDE_ATTENTION_FLASH ? fp32(run->out) : (tide_array){NULL, TIDE_FP32},
        .q = fp32(run->inputs[0]),
        .k = fp32(run->inputs[1]),
        .v = fp32(run->inputs[2]),
        .lse = run->lse,
        .probs = fp32(run->probs),
        .dprobs = fp32(run->dprobs),
        .scratch = run->scratch,
        .B = s.B,
        .T = s.T,
        .H = s.H,
        .D = s.D};
    assert_int_equal(ops->table->attention_backward(ops, &call, NULL), TIDE_OK);
}

/* A score is a sum of D products with an absolute error of about u sqrt(D) |score|; |score| is at
 * most 4 sqrt(D) here, and its absolute error is a probability's relative one. Then sums over T
 * probabilities. */
static double forward_tolerance(shape s) {
    return sum_tolerance(s.T, 8) + UNIT_ROUNDOFF * 4 * sqrt((double)s.D);
}

/* dP - delta cancels: both are sums of D products, their difference is as large as they are for
 * all but the rows of few keys; four such errors meet in dq and dk. */
static double backward_tolerance(shape s) {
    return 4 * (forward_tolerance(s) + sum_tolerance(s.D, 4));
}

static void check_gradients(attention_case *given, const attention_reference *want,
                            const attention_run *run) {
    static const char *const NAMES[3] = {"dq", "dk", "dv"};
    size_t n = elements(given->s);
    for (int i = 0; i < 3; i++) {
        if (given->s.T == 1 && i < 2) {
            /* One key: its probability is 1, whatever q and k are, and rounding is all there is.
             * dP and delta are sums of D products below 2, so each is off by sqrt(D) roundings of
             * at most 2 sqrt(D); their difference is multiplied by a q or k below 2 / sqrt(D). */
            double *none = doubles(n);
            double element =
                2 * UNIT_ROUNDOFF * 2 * (double)given->s.D * 2 / sqrt((double)given->s.D);
            assert_close(NAMES[i], run->grads[i], none, n, element * sqrt((double)n));
            free(none);
            continue;
        }
        assert_close(NAMES[i], run->grads[i], want->grads[i], n, backward_tolerance(given->s));
        given->which = i;
        assert_slope(NAMES[i], attention_loss, given, given->inputs[i], run->grads[i], n,
                     backward_tolerance(given->s));
    }
}

static void check(tide_ops *ops, tide_attention kind, shape s) {
    size_t n = elements(s);
    attention_run run = make_run(s);
    double *inputs[3] = {widen(run.inputs[0], n), widen(run.inputs[1], n), widen(run.inputs[2], n)};
    double *dout = widen(run.dout, n);
    attention_case given = {s, {inputs[0], inputs[1], inputs[2]}, dout, 0};
    attention_reference want = make_reference(&given);
    run_forward(ops, kind, s, &run);
    assert_close("out", run.out, want.out, n, forward_tolerance(s));
    if (kind == TIDE_ATTENTION_FLASH) {
        assert_close("lse", run.lse, want.lse, s.B * s.H * s.T, forward_tolerance(s));
    } else {
        assert_close("probs", run.probs, want.probs, s.B * s.H * s.T * s.T, forward_tolerance(s));
    }
    run_backward(ops, kind, s, &run);
    check_gradients(&given, &want, &run);
    free_reference(&want);
    free(dout);
    for (int i = 0; i < 3; i++) {
        free(inputs[i]);
    }
    free_run(&run);
}

static void flash(void **state) {
    for (size_t i = 0; i < N_SHAPES; i++) {
        check(fixture_ops(state), TIDE_ATTENTION_FLASH, SHAPES[i]);
    }
}

static void naive(void **state) {
    for (size_t i = 0; i < N_SHAPES; i++) {
        check(fixture_ops(state), TIDE_ATTENTION_NAIVE, SHAPES[i]);
    }
}

/* Row statistics that nobody wants are not written. */
static void lse_is_optional(void **state) {
    shape s = SHAPES[4];
    attention_run run = make_run(s);
    float *lse = run.lse;
    run_forward(fixture_ops(state), TIDE_ATTENTION_FLASH, s, &run);
    float *with = run.out;
    run.out = zeros(elements(s));
    run.lse = NULL;
    run_forward(fixture_ops(state), TIDE_ATTENTION_FLASH, s, &run);
    assert_memory_equal(run.out, with, elements(s) * sizeof(float));
    free(with);
    free(lse);
    free_run(&run);
}

/* Without the factor 1 / sqrt(D), that is with q as much larger, no kind may pass. */
static void missing_scale_is_rejected(void **state) {
    shape s = {2, 17, 4, 10};
    size_t n = elements(s);
    for (int kind = 0; kind < TIDE_N_ATTENTIONS; kind++) {
        attention_run run = make_run(s);
        double *inputs[3] = {widen(run.inputs[0], n), widen(run.inputs[1], n),
                             widen(run.inputs[2], n)};
        double *dout = widen(run.dout, n);
        attention_case given = {s, {inputs[0], inputs[1], inputs[2]}, dout, 0};
        attention_reference want = make_reference(&given);
        for (size_t i = 0; i < n; i++) {
            run.inputs[0][i] *= (float)sqrt((double)s.D);
        }
        run_forward(fixture_ops(state), (tide_attention)kind, s, &run);
        assert_rejected("attention without scale", run.out, want.out, n, forward_tolerance(s));
        run_backward(fixture_ops(state), (tide_attention)kind, s, &run);
        assert_rejected("dk without scale", run.grads[1], want.grads[1], n, backward_tolerance(s));
        free_reference(&want);
        free(dout);
        for (int i = 0; i < 3; i++) {
            free(inputs[i]);
        }
        free_run(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash),
        cmocka_unit_test(naive),
        cmocka_unit_test(lse_is_optional),
        cmocka_unit_test(missing_scale_is_rejected),
    };
    return cmocka_run_group_tests(tests, ops_fixture_setup, ops_fixture_teardown);
}
