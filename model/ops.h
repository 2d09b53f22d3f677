/* ops.h - the operators of the transformer, as a table with one implementation per device
 * (ops_cpu/, ops_cuda/, virtual). All take device arrays, dimensions by the letters of config.h,
 * and nothing else; none allocates device memory: an operator that needs scratch says how much
 * through a tide_ops_*_scratch_* function here, of shape and precision alone, and the model
 * allocates it on every device.
 *
 * Arrays are row-major and contiguous. Storage is fp32 or bf16 as the array says; sums are taken in
 * fp32. An operator that a device does not have for a type returns TIDE_UNSUPPORTED with a message.
 */
#ifndef TIDE_MODEL_OPS_H
#define TIDE_MODEL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "recorder/recorder.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "model/config.h"
#include "model/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of one device's operators: device, stream, library handles. Implementations embed it as
 * their first member. */
typedef struct tide_ops tide_ops;

typedef enum tide_matmul_kind {
    TIDE_MATMUL_NT = 0, /* out (m, n) = a (m, k) b (n, k)^T: y = x W^T */
    TIDE_MATMUL_NN,     /* out (m, n) = a (m, k) b (k, n): dx = dy W */
    TIDE_MATMUL_TN      /* out (m, n) = a (k, m)^T b (k, n): dW = dy^T x */
} tide_matmul_kind;

typedef struct tide_matmul {
    tide_matmul_kind kind;
    tide_array out, a, b; /* shapes by the kind */
    size_t m, n, k;       /* each in 1 .. INT_MAX */
    bool accumulate;      /* out += instead of out = */
} tide_matmul;

/* rstd_r = 1 / sqrt(mean_c(x_rc^2) + 1e-5); out = x * rstd * weight. */
typedef struct tide_rmsnorm_forward {
    tide_array out;    /* (R, C) */
    float *rstd;       /* (R), fp32; NULL: not wanted */
    tide_array x;      /* (R, C) */
    tide_array weight; /* (C) */
    size_t R, C;       /* rows, channels */
} tide_rmsnorm_forward;

/* dx (= or +=) the gradient of x; dweight = sum_r dout * x * rstd. */
typedef struct tide_rmsnorm_backward {
    tide_array dx;      /* (R, C), x's type */
    tide_array dweight; /* (C), the gradients' type */
    tide_array dout;    /* (R, C) */
    tide_array x;       /* (R, C) */
    tide_array weight;  /* (C) */
    const float *rstd;  /* (R) */
    float *scratch;     /* tide_ops_rmsnorm_scratch_elements(R, C) */
    size_t R, C;        /* rows, channels */
    bool accumulate;    /* dx += instead of dx = ; dweight is always written */
} tide_rmsnorm_backward;

/* mean_r = mean_c(x_rc); rstd_r = 1 / sqrt(mean_c((x_rc - mean_r)^2) + 1e-5); out = (x - mean) *
 * rstd * weight + bias. No model here trains with it: there is no backward. */
typedef struct tide_layernorm_forward {
    tide_array out;          /* (R, C) */
    tide_array x;            /* (R, C) */
    tide_array weight, bias; /* (C) */
    size_t R, C;             /* rows, channels */
} tide_layernorm_forward;

/* Products of matrices with one vector: out (n_chosen, m) = weight (matrix, m, k) x (k), for each
 * matrix of those chosen. Weights are fp32, bf16 or int8; they are cast to fp32 where they are
 * used, and x and out are fp32 or bf16. */
typedef struct tide_gemv {
    tide_array out;        /* (n_chosen, m) */
    tide_array weight;     /* (matrices, m, k) */
    tide_array x;          /* (k) */
    const int32_t *chosen; /* (n_chosen), each below the number of matrices; NULL: 0, 1, ... */
    size_t n_chosen;       /* matrices multiplied */
    size_t m, k;           /* rows and columns of a matrix */
} tide_gemv;

/* Causal attention. q, k, v, out: (B, T, H, D), that is (R, C); scores are scaled by 1 / sqrt(D).
 * flash: lse (B, H, T) = log of the sum of exponentials of a row's scaled scores, probs unused.
 * naive: probs (B, H, T, T), zero above the diagonal, lse unused. The scaled scores lie in probs
 * before, rounded to its type like everything that is stored. */
typedef struct tide_attention_forward {
    tide_attention kind;
    tide_array out;     /* written */
    tide_array q, k, v; /* q and k rotated */
    float *lse;         /* flash: written; NULL: not wanted */
    tide_array probs;   /* naive: written */
    size_t B, T, H, D;  /* sequences, tokens, heads, channels of a head */
} tide_attention_forward;

typedef struct tide_attention_backward {
    tide_attention kind;
    tide_array dq, dk, dv;         /* written */
    tide_array dout, out, q, k, v; /* out: flash only; naive: data NULL, it is released by then */
    const float *lse;              /* flash */
    tide_array probs;              /* naive */
    tide_array dprobs;             /* naive: (B, H, T, T) scratch, holds d probs, then d scores */
    float *scratch;                /* tide_ops_attention_scratch_elements(...) */
    size_t B, T, H, D;             /* as in forward */
} tide_attention_backward;

/* Mean cross-entropy over R rows, fused with its gradient: row_losses_r = log(sum_v exp(logits_rv))
 * - logits_r,target; then logits are overwritten by d(mean loss) / d logits = (softmax - onehot) /
 * R. */
typedef struct tide_cross_entropy {
    tide_array logits;      /* (R, V) in: logits, out: their gradient */
    float *row_losses;      /* (R) */
    float *loss;            /* (1): their mean */
    const int32_t *targets; /* (R), each below V */
    size_t R, V;            /* rows, vocabulary */
} tide_cross_entropy;

/* One parameter of the optimizer's list, with what belongs to it. */
typedef struct tide_parameter_arrays {
    tide_array parameter, gradient; /* the norm and clipping look at the gradient alone */
    tide_array exp_avg, exp_avg_sq; /* AdamW's first and second moment */
    size_t n_elements;              /* of each of the four */
} tide_parameter_arrays;

/* The course's AdamW, eps beside the uncorrected square root and decay after the update (the 2025
 * edition):
 *
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p = p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
 *   p = p - lr weight_decay p */
typedef struct tide_adamw {
    double lr, beta1, beta2, eps, weight_decay; /* as above */
    int64_t t;                                  /* 1 for the first step */
} tide_adamw;

/* 1e-3, 0.9, 0.999, 1e-8, 0.01. */
void tide_adamw_init(tide_adamw *adamw);

/* How a new array is filled: Philox, keyed by (seed, stream, element), so the same on every device
 * and thread count. */
typedef struct tide_random {
    uint64_t seed;   /* of the run */
    uint64_t stream; /* a number per tensor */
} tide_random;

typedef struct tide_ops_table {
    void (*close)(tide_ops *ops);
    /* A line about what computes: "AVX-512 kernels, 2 threads". Valid until close. */
    const char *(*describe)(const tide_ops *ops);
    /* The library for matrix products works in this memory, aligned to 256 bytes, which outlives
     * the operators' last call. NULL: it needs none. */
    tide_status (*use_workspace)(tide_ops *ops, void *workspace, size_t n_bytes, tide_error *error);

    /* out (R, C) = table (V, C) at tokens (R). */
    tide_status (*embedding_forward)(tide_ops *ops, tide_array out, tide_array table,
                                     const int32_t *tokens, size_t R, size_t C, tide_error *error);
    /* dtable (V, C) = 0, then += dout (R, C) at tokens, rows in order. */
    tide_status (*embedding_backward)(tide_ops *ops, tide_array dtable, tide_array dout,
                                      const int32_t *tokens, size_t R, size_t C, size_t V,
                                      tide_error *error);
    tide_status (*rmsnorm_forward)(tide_ops *ops, const tide_rmsnorm_forward *call,
                                   tide_error *error);
    tide_status (*rmsnorm_backward)(tide_ops *ops, const tide_rmsnorm_backward *call,
                                    tide_error *error);
    tide_status (*matmul)(tide_ops *ops, const tide_matmul *call, tide_error *error);
    /* Rotates pairs (2i, 2i + 1) of x (B, T, H, D) in place by the angle of table (2, T, D / 2):
     * cos then sin, fp32. inverse: by the negative angle, which is its gradient. */
    tide_status (*rope)(tide_ops *ops, tide_array x, const float *table, size_t B, size_t T,
                        size_t H, size_t D, bool inverse, tide_error *error);
    tide_status (*attention_forward)(tide_ops *ops, const tide_attention_forward *call,
                                     tide_error *error);
    tide_status (*attention_backward)(tide_ops *ops, const tide_attention_backward *call,
                                      tide_error *error);
    /* out = silu(gate) * up, silu(x) = x / (1 + exp(-x)). */
    tide_status (*swiglu_forward)(tide_ops *ops, tide_array out, tide_array gate, tide_array up,
                                  size_t n, tide_error *error);
    tide_status (*swiglu_backward)(tide_ops *ops, tide_array dgate, tide_array dup, tide_array dout,
                                   tide_array gate, tide_array up, size_t n, tide_error *error);
    /* out = x Phi(x), Phi(x) = (1 + erf(x / sqrt(2))) / 2: GELU, not its approximation by tanh. out
     * may be x. */
    tide_status (*gelu_forward)(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                tide_error *error);
    /* dx = dout (Phi(x) + x phi(x)), phi(x) = exp(-x^2 / 2) / sqrt(2 pi). dx may be dout. */
    tide_status (*gelu_backward)(tide_ops *ops, tide_array dx, tide_array dout, tide_array x,
                                 size_t n, tide_error *error);
    tide_status (*layernorm_forward)(tide_ops *ops, const tide_layernorm_forward *call,
                                     tide_error *error);
    tide_status (*gemv)(tide_ops *ops, const tide_gemv *call, tide_error *error);
    /* out += x. */
    tide_status (*residual_add)(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                tide_error *error);
    tide_status (*cross_entropy)(tide_ops *ops, const tide_cross_entropy *call, tide_error *error);
    /* out = x, rounded to nearest even where the type narrows. */
    tide_status (*cast)(tide_ops *ops, tide_array out, tide_array x, size_t n, tide_error *error);

    tide_status (*fill)(tide_ops *ops, tide_array out, double value, size_t n, tide_error *error);
    /* Normal with mean 0 and the given sigma, truncated at +-3 sigma. */
    tide_status (*fill_normal)(tide_ops *ops, tide_array out, double sigma, tide_random random,
                               size_t n, tide_error *error);
    /* Uniform integers in [0, bound). */
    tide_status (*fill_tokens)(tide_ops *ops, int32_t *out, size_t bound, tide_random random,
                               size_t n, tide_error *error);
    /* table (2, T, D / 2): cos and sin of t * theta^(-2i / D), angles computed in double. */
    tide_status (*fill_rope)(tide_ops *ops, float *table, size_t T, size_t D, double theta,
                             tide_error *error);

    /* norm (1) = sqrt of the sum of squares of all gradients; scratch:
     * tide_ops_norm_scratch_elements. */
    tide_status (*global_norm)(tide_ops *ops, const tide_parameter_arrays *parameters,
                               size_t n_parameters, float *scratch, float *norm, tide_error *error);
    /* Gradients *= min(1, max_norm / (norm + 1e-6)). */
    tide_status (*clip)(tide_ops *ops, const tide_parameter_arrays *parameters, size_t n_parameters,
                        const float *norm, double max_norm, tide_error *error);
    tide_status (*adamw)(tide_ops *ops, const tide_adamw *adamw,
                         const tide_parameter_arrays *parameters, size_t n_parameters,
                         tide_error *error);
} tide_ops_table;

struct tide_ops {
    const tide_ops_table *table; /* static */
    const tide_hostmem *mem;     /* borrowed; what this struct came from */
    tide_device *device;         /* borrowed; outlives the operators */
    tide_stream stream;          /* what the operators are ordered on */
    tide_recorder *recorder; /* borrowed; where operators open scopes for their parts; NULL: none */
};

/* The operators of `device`'s kind. `mem` is borrowed and outlives them. The caller closes them
 * before the device. */
TIDE_NODISCARD tide_status tide_ops_open(const tide_hostmem *mem, tide_device *device,
                                         tide_precision precision, tide_ops **ret_ops,
                                         tide_error *error);
void tide_ops_close(tide_ops *ops);

/* Allocates what the device's library for matrix products works in, as workspace, and hands it to
 * the operators; nothing happens where it wants none. The caller releases it after their last call.
 */
TIDE_NODISCARD tide_status tide_ops_alloc_workspace(tide_ops *ops, tide_cache *cache,
                                                    tide_tensor *workspace, tide_error *error);

TIDE_NODISCARD tide_status tide_ops_cpu_open(const tide_hostmem *mem, tide_device *device,
                                             tide_precision precision, tide_ops **ret_ops,
                                             tide_error *error);
TIDE_NODISCARD tide_status tide_ops_cuda_open(const tide_hostmem *mem, tide_device *device,
                                              tide_precision precision, tide_ops **ret_ops,
                                              tide_error *error);
TIDE_NODISCARD tide_status tide_ops_virtual_open(const tide_hostmem *mem, tide_device *device,
                                                 tide_ops **ret_ops, tide_error *error);

/* The parts of naive attention. On every device each of them is a scope of its own, "scores",
 * "softmax" and "value", in this order forward and in the reverse order backward: where the part's
 * products or rows, or their gradients, are computed. */
typedef enum tide_attention_part {
    TIDE_PART_SCORES = 0, /* q k^T / sqrt(D); backward dq and dk */
    TIDE_PART_SOFTMAX,    /* scores to probs; backward dprobs to dscores */
    TIDE_PART_VALUE       /* out; backward dv and dprobs */
} tide_attention_part;

/* For implementations of the table. A failed call may leave its scope open: that of its caller
 * closes it. */
tide_scope tide_ops_part_begin(const tide_ops *ops, tide_attention_part part);
void tide_ops_part_end(const tide_ops *ops, tide_scope scope);

/* Scratch in fp32 elements; functions of shape alone, the same on every device. */
enum { TIDE_RMSNORM_ROWS = 64, TIDE_RMSNORM_PARTIALS = 128, TIDE_NORM_CHUNK = 1 << 16 };
/* One partial sum of dweight per TIDE_RMSNORM_ROWS rows, TIDE_RMSNORM_PARTIALS at most: min(...) *
 * C. */
size_t tide_ops_rmsnorm_scratch_elements(size_t R, size_t C);
/* flash: sum_d dout * out per row and head, B * H * T; naive: 0. */
size_t tide_ops_attention_scratch_elements(tide_attention kind, size_t B, size_t T, size_t H);
/* One partial sum per chunk of TIDE_NORM_CHUNK elements of each gradient. */
size_t tide_ops_norm_scratch_elements(const tide_parameter_arrays *parameters, size_t n_parameters);

#ifdef __cplusplus
}
#endif

#endif
