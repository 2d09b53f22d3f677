/* attention_reference.c - causal attention and its gradients, straight from the formulas, in
 * double. */
#include "attention_reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/bf16.h"

size_t attention_elements(attention_shape s) {
    return s.B * s.T * s.H * s.D;
}

size_t attention_n_rows(attention_shape s) {
    return s.B * s.H * s.T;
}

/* Element (b, t, h, 0). */
size_t attention_at(attention_shape s, size_t b, size_t t, size_t h) {
    return ((b * s.T + t) * s.H + h) * s.D;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Probabilities (t + 1) of query t, and the log of the sum of exponentials. */
static double probabilities(const attention_case *given, size_t b, size_t h, size_t t,
                            double *probs) {
    attention_shape s = given->s;
    const double *q = given->inputs[0];
    const double *k = given->inputs[1];
    double max = -INFINITY;
    for (size_t j = 0; j <= t; j++) {
        probs[j] = dot(q + attention_at(s, b, t, h), k + attention_at(s, b, j, h), s.D) /
                   sqrt((double)s.D);
        if (given->rounds_scores) {
            probs[j] = (double)tide_bf16_to_fp32(tide_fp32_to_bf16((float)probs[j]));
        }
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

static double *doubles(size_t n) {
    double *x = calloc(n, sizeof(*x));
    assert_non_null(x);
    return x;
}

/* Adds query (b, t, h)'s part to out and to the gradients. */
static void add_query(const attention_case *given, const attention_reference *want, size_t b,
                      size_t t, size_t h) {
    attention_shape s = given->s;
    double *probs = want->probs + ((b * s.H + h) * s.T + t) * s.T;
    want->lse[(b * s.H + h) * s.T + t] = probabilities(given, b, h, t, probs);
    size_t query = attention_at(s, b, t, h);
    double delta = 0;
    for (size_t j = 0; j <= t; j++) {
        size_t key = attention_at(s, b, j, h);
        delta += probs[j] * dot(given->dout + query, given->inputs[2] + key, s.D);
        for (size_t d = 0; d < s.D; d++) {
            want->out[query + d] += probs[j] * given->inputs[2][key + d];
            want->grads[2][key + d] += probs[j] * given->dout[query + d];
        }
    }
    for (size_t j = 0; j <= t; j++) {
        size_t key = attention_at(s, b, j, h);
        double dprob = dot(given->dout + query, given->inputs[2] + key, s.D);
        double dscore = probs[j] * (dprob - delta) / sqrt((double)s.D);
        for (size_t d = 0; d < s.D; d++) {
            want->grads[0][query + d] += dscore * given->inputs[1][key + d];
            want->grads[1][key + d] += dscore * given->inputs[0][query + d];
        }
    }
}

attention_reference attention_reference_make(const attention_case *given) {
    attention_shape s = given->s;
    size_t n = attention_elements(s);
    attention_reference want = {.out = doubles(n),
                                .lse = doubles(attention_n_rows(s)),
                                .probs = doubles(attention_n_rows(s) * s.T),
                                .grads = {doubles(n), doubles(n), doubles(n)}};
    for (size_t i = 0; i < s.B * s.T * s.H; i++) {
        add_query(given, &want, i / s.H / s.T, i / s.H % s.T, i % s.H);
    }
    return want;
}

void attention_reference_free(attention_reference *want) {
    free(want->out);
    free(want->lse);
    free(want->probs);
    for (int i = 0; i < 3; i++) {
        free(want->grads[i]);
    }
}

double attention_loss(const void *ctx, const double *x) {
    attention_case given = *(const attention_case *)ctx;
    given.inputs[given.which] = x;
    attention_reference want = attention_reference_make(&given);
    double sum = dot(want.out, given.dout, attention_elements(given.s));
    attention_reference_free(&want);
    return sum;
}
