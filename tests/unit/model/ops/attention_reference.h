/* attention_reference.h - causal attention and its gradients in double, for tests to compare with.
 */
#ifndef TIDE_TESTS_UNIT_MODEL_OPS_ATTENTION_REFERENCE_H
#define TIDE_TESTS_UNIT_MODEL_OPS_ATTENTION_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct attention_shape {
    size_t B, T, H, D; /* sequences, tokens, heads, channels of a head */
} attention_shape;

/* Numbers of q; queries of all heads; the number of element (b, t, h, 0). */
size_t attention_elements(attention_shape s);
size_t attention_n_rows(attention_shape s);
size_t attention_at(attention_shape s, size_t b, size_t t, size_t h);

typedef struct attention_case {
    attention_shape s;
    const double *inputs[3]; /* q, k, v */
    const double *dout;
    int which;          /* which of the inputs the loss is a function of */
    bool rounds_scores; /* to bf16, as naive attention stores them */
} attention_case;

/* The results of a case: out, lse, probs, and the gradients of q, k and v. All are owned. */
typedef struct attention_reference {
    double *out, *lse, *probs, *grads[3];
} attention_reference;

attention_reference attention_reference_make(const attention_case *given);
void attention_reference_free(attention_reference *want);
/* sum(out * dout) as a function of one of the inputs: for assert_slope (ops_support.h). */
double attention_loss(const void *ctx, const double *x);

#endif
