/* Attention, as ops_cuda/attention.c computes it: flash in two to four kernels of our own, naive by
 * products of cuBLAS and a softmax. */
#include "model/ops_virtual/launches_internal.h"

/* Sizes of a call. */
typedef struct sizes {
    size_t B, T, H, D;  /* as in ops.h */
    tide_array example; /* all are of one type (attention.c refuses others) */
    bool is_tf32;       /* fp32, whose products may be rounded */
} sizes;

static sizes sizes_of(const tide_ops *ops, size_t B, size_t T, size_t H, size_t D, tide_array q) {
    const tide_ops_virtual *own = (const tide_ops_virtual *)(const void *)ops;
    return (sizes){B, T, H, D, q, q.dtype == TIDE_FP32 && own->rounds_to_tf32};
}

/* An array (B, T, H, D). */
static uint64_t array_bytes(const sizes *s) {
    return tide_launch_bytes(s->example, s->B * s->T * s->H * s->D);
}

/* One fp32 number for each row and head. */
static uint64_t row_bytes(const sizes *s) {
    return tide_launch_words(s->B * s->H * s->T);
}

/* Whether the kernels for tensor cores handle the call: fits_matrices of ops_cuda/attention.c,
 * whose alignment every tensor of the cache has. */
static bool uses_matrices(const sizes *s) {
    return (s->example.dtype == TIDE_BF16 || s->is_tf32) &&
           tide_launch_bytes(s->example, s->D) % 16 == 0;
}

/* ---- flash ---- */

static tide_status fused(const tide_ops *ops, const sizes *s, bool is_backward,
                         const char *names[2], uint64_t n_products, uint64_t bytes) {
    const tide_launch_attention row = {.name = names[uses_matrices(s)],
                                       .is_backward = is_backward,
                                       .type = !uses_matrices(s) ? TIDE_RUN_FP32
                                               : s->is_tf32      ? TIDE_RUN_TF32
                                                                 : TIDE_RUN_BF16,
                                       .B = s->B,
                                       .T = s->T,
                                       .H = s->H,
                                       .D = s->D,
                                       .n_products = n_products,
                                       .bytes = bytes};
    return tide_launch_fused(ops, &row);
}

/* attention_flash.cu, attention_mma_forward.cu: q k^T and probs v; reads q, k and v, writes out,
 * and lse if requested. */
static tide_status flash_forward(const tide_ops *ops, const sizes *s, bool has_lse) {
    const char *names[2] = {"tide_flash_forward_kernel", "tide_flash_mma_forward_kernel"};
    return fused(ops, s, false, names, 2, 4 * array_bytes(s) + (has_lse ? row_bytes(s) : 0));
}

/* attention_delta.cu: reads dout and out, writes one number per row. Then the queries' half: q k^T,
 * dout v^T and dscores k; reads q, k, v, dout, lse and delta, writes dq. The keys' half: the first
 * two again, probs^T dout and dscores^T q; reads the same, writes dk and dv. */
static tide_status flash_backward(const tide_ops *ops, const sizes *s) {
    const char *names[2] = {"tide_flash_backward_kernel", "tide_flash_mma_backward_kernel"};
    uint64_t read = 4 * array_bytes(s) + 2 * row_bytes(s);
    TIDE_TRY(tide_launch_kernel(ops, "tide_attention_delta_kernel", TIDE_RUN_OWN_ROWS,
                                2 * array_bytes(s) + row_bytes(s), s->B * s->T * s->H * s->D));
    TIDE_TRY(fused(ops, s, true, names, 3, read + array_bytes(s)));
    return fused(ops, s, true, names, 4, read + 2 * array_bytes(s));
}

/* ---- naive: each product needs one call per sequence ---- */

/* (T, T) = (T, D) (T, D)^T of every head. */
static tide_status multiply_tokens(const tide_ops *ops, const sizes *s) {
    const tide_launch_gemm gemm = {TIDE_MATMUL_NT,   s->T, s->T, s->D, s->H, s->example.dtype,
                                   s->example.dtype, 0};
    for (size_t b = 0; b < s->B; b++) {
        TIDE_TRY(tide_launch_product(ops, &gemm));
    }
    return TIDE_OK;
}

/* (T, D) = (T, T) (T, D) of every head; TN: the first is transposed. */
static tide_status multiply_scores(const tide_ops *ops, const sizes *s, tide_matmul_kind kind) {
    const tide_launch_gemm gemm = {kind, s->T, s->D, s->T, s->H, s->example.dtype, s->example.dtype,
                                   0};
    for (size_t b = 0; b < s->B; b++) {
        TIDE_TRY(tide_launch_product(ops, &gemm));
    }
    return TIDE_OK;
}

/* attention_softmax.cu: reads the elements of n_read arrays (B, H, T, T) up to the diagonal, in
 * packs of 16 bytes if rows are whole packs, and writes all of one. Row t ends in the pack of its
 * element t, so the rows of a head have T (T + pack) / 2 elements in total. */
static tide_status softmax(const tide_ops *ops, const char *name, const sizes *s, size_t n_read) {
    size_t in_pack = 16 / tide_dtype_bytes(s->example.dtype);
    size_t pack = s->T % in_pack == 0 ? in_pack : 1;
    size_t below = s->T * (s->T + pack) / 2;
    uint64_t n_elements = (uint64_t)s->B * s->H * s->T * s->T;
    return tide_launch_kernel(
        ops, name, TIDE_RUN_OWN_ROWS,
        tide_launch_bytes(s->example, s->B * s->H * (n_read * below + s->T * s->T)), n_elements);
}

static tide_status naive_forward(const tide_ops *ops, const sizes *s) {
    tide_scope scope = tide_ops_part_begin(ops, TIDE_PART_SCORES);
    TIDE_TRY(multiply_tokens(ops, s));
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_SOFTMAX);
    TIDE_TRY(softmax(ops, "tide_softmax_forward_kernel", s, 1));
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_VALUE);
    TIDE_TRY(multiply_scores(ops, s, TIDE_MATMUL_NN));
    tide_ops_part_end(ops, scope);
    return TIDE_OK;
}

static tide_status naive_backward(const tide_ops *ops, const sizes *s) {
    tide_scope scope = tide_ops_part_begin(ops, TIDE_PART_VALUE);
    TIDE_TRY(multiply_scores(ops, s, TIDE_MATMUL_TN)); /* dv */
    TIDE_TRY(multiply_tokens(ops, s));                 /* dprobs */
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_SOFTMAX);
    TIDE_TRY(softmax(ops, "tide_softmax_backward_kernel", s, 2));
    tide_ops_part_end(ops, scope);
    scope = tide_ops_part_begin(ops, TIDE_PART_SCORES);
    TIDE_TRY(multiply_scores(ops, s, TIDE_MATMUL_NN)); /* dq */
    TIDE_TRY(multiply_scores(ops, s, TIDE_MATMUL_TN)); /* dk */
    tide_ops_part_end(ops, scope);
    return TIDE_OK;
}

/* ---- the operators ---- */

tide_status tide_launches_of_attention_forward(const tide_ops *ops,
                                               const tide_attention_forward *call) {
    const sizes s = sizes_of(ops, call->B, call->T, call->H, call->D, call->q);
    if (s.B * s.T * s.H * s.D == 0) {
        return TIDE_OK;
    }
    return call->kind == TIDE_ATTENTION_NAIVE ? naive_forward(ops, &s)
                                              : flash_forward(ops, &s, call->lse != NULL);
}

tide_status tide_launches_of_attention_backward(const tide_ops *ops,
                                                const tide_attention_backward *call) {
    const sizes s = sizes_of(ops, call->B, call->T, call->H, call->D, call->q);
    if (s.B * s.T * s.H * s.D == 0) {
        return TIDE_OK;
    }
    return call->kind == TIDE_ATTENTION_NAIVE ? naive_backward(ops, &s) : flash_backward(ops, &s);
}
