/* Causal attention with its probabilities in memory. Per sequence b and head h, with q, k, v, out
 * (T, D) at a row distance of C = H D, and probs (T, T):
 *
 *   probs = softmax over s <= t of q k^T / sqrt(D), 0 for s > t;  out = probs v
 *
 *   dv = probs^T dout;  dprobs = dout v^T
 *   dscores = probs * (dprobs - sum_s dprobs * probs) / sqrt(D), in place of dprobs
 *   dq = dscores k;  dk = dscores^T q
 *
 * cuBLAS computes the products, over the whole square: the half above the diagonal is computed and
 * then overwritten by 0. A sequence's heads are one batch: they are D elements apart in (B, T, H,
 * D), but the last head of a sequence and the first of the next are not, so each product takes B
 * calls. bf16 scores are rounded when they are stored, and softmax reads the rounded ones. */
#include <math.h>

#include "model/ops_cuda/attention/attention_internal.h"
#include "model/ops_cuda/gemm.h"

/* Sizes of a call. */
typedef struct sizes {
    size_t B, T, H, D; /* as in ops.h */
} sizes;

/* Sequence b's heads of an array (B, T, H, D), or, of scores, (B, H, T, T). */
static tide_cuda_matrix heads_of(const sizes *s, tide_array x, size_t b, bool scores) {
    const size_t n_elements = b * s->T * s->H * (scores ? s->T : s->D);
    const tide_array array = {(char *)x.data + n_elements * tide_dtype_bytes(x.dtype), x.dtype};
    return scores ? (tide_cuda_matrix){array, s->T, s->T * s->T}
                  : (tide_cuda_matrix){array, s->H * s->D, s->D};
}

/* scores (T, T) = alpha x (T, D) y (T, D)^T, of every sequence and head. */
static tide_status multiply_tokens(tide_ops *ops, const char *name, const sizes *s, float alpha,
                                   const tide_array arrays[3], tide_error *error) {
    for (size_t b = 0; b < s->B; b++) { /* scores[b], x[b], y[b] */
        const tide_cuda_gemm gemm = {.kind = TIDE_MATMUL_NT,
                                     .m = s->T,
                                     .n = s->T,
                                     .k = s->D,
                                     .n_batches = s->H,
                                     .alpha = alpha,
                                     .beta = 0,
                                     .out = heads_of(s, arrays[0], b, true),
                                     .a = heads_of(s, arrays[1], b, false),
                                     .b = heads_of(s, arrays[2], b, false)};
        TIDE_TRY(tide_cuda_gemm_run(ops, name, &gemm, error));
    }
    return TIDE_OK;
}

/* out (T, D) = scores (T, T) x (T, D), or scores^T x (kind TN), of every sequence and head. arrays:
 * out, scores, x. */
static tide_status multiply_scores(tide_ops *ops, const char *name, const sizes *s,
                                   tide_matmul_kind kind, const tide_array arrays[3],
                                   tide_error *error) {
    for (size_t b = 0; b < s->B; b++) { /* out[b], scores[b], x[b] */
        const tide_cuda_gemm gemm = {.kind = kind,
                                     .m = s->T,
                                     .n = s->D,
                                     .k = s->T,
                                     .n_batches = s->H,
                                     .alpha = 1,
                                     .beta = 0,
                                     .out = heads_of(s, arrays[0], b, false),
                                     .a = heads_of(s, arrays[1], b, true),
                                     .b = heads_of(s, arrays[2], b, false)};
        TIDE_TRY(tide_cuda_gemm_run(ops, name, &gemm, error));
    }
    return TIDE_OK;
}

tide_status tide_cuda_naive_forward(tide_ops *ops, const tide_attention_forward *call,
                                    tide_error *error) {
    const sizes s = {call->B, call->T, call->H, call->D};
    const float scale = (float)(1 / sqrt((double)s.D));
    tide_scope scope = tide_ops_part_begin(ops, TIDE_PART_SCORES);
    TIDE_TRY(multiply_tokens(ops, "attention: scores", &s, scale,
                             (const tide_array[]){call->probs, call->q, call->k}, error));
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_SOFTMAX);
    TIDE_TRY(tide_cuda_attention_softmax(ops, call, error));
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_VALUE);
    TIDE_TRY(multiply_scores(ops, "attention: values", &s, TIDE_MATMUL_NN,
                             (const tide_array[]){call->out, call->probs, call->v}, error));
    tide_ops_part_end(ops, scope);
    return TIDE_OK;
}

tide_status tide_cuda_naive_backward(tide_ops *ops, const tide_attention_backward *call,
                                     tide_error *error) {
    const sizes s = {call->B, call->T, call->H, call->D};
    tide_scope scope = tide_ops_part_begin(ops, TIDE_PART_VALUE);
    TIDE_TRY(multiply_scores(ops, "attention: dv", &s, TIDE_MATMUL_TN,
                             (const tide_array[]){call->dv, call->probs, call->dout}, error));
    TIDE_TRY(multiply_tokens(ops, "attention: dprobs", &s, 1,
                             (const tide_array[]){call->dprobs, call->dout, call->v}, error));
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_SOFTMAX);
    TIDE_TRY(tide_cuda_attention_softmax_backward(ops, call, error));
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_SCORES);
    TIDE_TRY(multiply_scores(ops, "attention: dq", &s, TIDE_MATMUL_NN,
                             (const tide_array[]){call->dq, call->dprobs, call->k}, error));
    TIDE_TRY(multiply_scores(ops, "attention: dk", &s, TIDE_MATMUL_TN,
                             (const tide_array[]){call->dk, call->dprobs, call->q}, error));
    tide_ops_part_end(ops, scope);
    return TIDE_OK;
}
