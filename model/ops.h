/* ops.h - the operators of the transformer, as a table with one implementation per device
 * (ops_cpu/, ops_cuda/, ops_virtual/). Operator x takes one `const tide_x *call`, a struct of
 * device arrays and dimensions, which it reads before it returns. No operator allocates device
 * memory: the size of its scratch memory follows from shape and precision only, through a
 * tide_ops_*_scratch_* function here, and the model allocates it on every device.
 *
 * Arrays are row-major and contiguous. Storage is fp32, bf16 or fp16, by the type of the array;
 * sums are computed in fp32. If a device lacks an operator for a type, the operator returns
 * TIDE_UNSUPPORTED with a message.
 */
#ifndef TIDE_MODEL_OPS_H
#define TIDE_MODEL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "programs/wire/launch_list.h"
#include "common/status.h"
#include "device/device.h"
#include "model/config.h"
#include "model/tensor.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of one device's operators: device, stream, library handles. Implementations embed it as
 * their first member. */
typedef struct tide_ops tide_ops;

/* Every operator once, by name. From this list come the type of its function, its entry in the
 * table, and the declarations of its twins on the devices. The call of operator x is a `tide_x`,
 * below; a new operator is a struct, a line here and a function on each device (CONTRIBUTING.md).
 */
#define TIDE_OPERATORS(OPERATOR)                                                                   \
    TIDE_OPERATORS_WITHOUT_PARTS(OPERATOR)                                                         \
    TIDE_OPERATORS_WITH_PARTS(OPERATOR)
/* Operators that open no scope of their own. */
#define TIDE_OPERATORS_WITHOUT_PARTS(OPERATOR)                                                     \
    OPERATOR(embedding_forward)                                                                    \
    OPERATOR(embedding_backward)                                                                   \
    OPERATOR(rmsnorm_forward)                                                                      \
    OPERATOR(rmsnorm_backward)                                                                     \
    OPERATOR(layernorm_forward)                                                                    \
    OPERATOR(matmul)                                                                               \
    OPERATOR(gemv)                                                                                 \
    OPERATOR(bias_forward)                                                                         \
    OPERATOR(bias_backward)                                                                        \
    OPERATOR(rope)                                                                                 \
    OPERATOR(swiglu_forward)                                                                       \
    OPERATOR(swiglu_backward)                                                                      \
    OPERATOR(gelu_forward)                                                                         \
    OPERATOR(gelu_backward)                                                                        \
    OPERATOR(cross_entropy)                                                                        \
    OPERATOR(cast)                                                                                 \
    OPERATOR(fill)                                                                                 \
    OPERATOR(fill_normal)                                                                          \
    OPERATOR(fill_tokens)                                                                          \
    OPERATOR(fill_rope)                                                                            \
    OPERATOR(unscale)                                                                              \
    OPERATOR(global_norm)                                                                          \
    OPERATOR(clip)                                                                                 \
    OPERATOR(adamw)
/* Operators that open a scope for each of their parts (tide_attention_part). */
#define TIDE_OPERATORS_WITH_PARTS(OPERATOR)                                                        \
    OPERATOR(attention_forward)                                                                    \
    OPERATOR(attention_backward)

/* out = table at tokens. */
typedef struct tide_embedding_forward {
    tide_array out;        /* (R, C) written */
    tide_array table;      /* (V, C) */
    const int32_t *tokens; /* (R), each below V */
    size_t R, C;           /* tokens, channels */
} tide_embedding_forward;

/* dtable = 0, then dtable at tokens += dout, row after row. */
typedef struct tide_embedding_backward {
    tide_array dtable;     /* (V, C) written */
    tide_array dout;       /* (R, C) */
    const int32_t *tokens; /* (R), each below V */
    size_t R, C, V;        /* tokens, channels, vocabulary */
} tide_embedding_backward;

/* rstd_r = 1 / sqrt(mean_c(x_rc^2) + 1e-5); out = x * rstd * weight. */
typedef struct tide_rmsnorm_forward {
    tide_array out;    /* (R, C) written */
    float *rstd;       /* (R) written; NULL: not wanted */
    tide_array x;      /* (R, C) */
    tide_array weight; /* (C) */
    size_t R, C;       /* rows, channels */
} tide_rmsnorm_forward;

/* dx (= or +=) the gradient of x; dweight = sum_r dout * x * rstd. This operator may overwrite
 * dout: a device may store partial sums there after reading it. */
typedef struct tide_rmsnorm_backward {
    tide_array dx;      /* (R, C) written or accumulated, x's type */
    tide_array dweight; /* (C) written, the gradients' type */
    tide_array dout;    /* (R, C) read; undefined afterwards */
    tide_array x;       /* (R, C) */
    tide_array weight;  /* (C) */
    const float *rstd;  /* (R) */
    float *scratch;     /* tide_ops_rmsnorm_scratch_elements(R, C) */
    size_t R, C;        /* rows, channels */
    bool accumulate;    /* dx += instead of dx = ; dweight is always written */
} tide_rmsnorm_backward;

/* mean_r = mean_c(x_rc); rstd_r = 1 / sqrt(mean_c((x_rc - mean_r)^2) + 1e-5); out = (x - mean) *
 * rstd * weight + bias. No model here trains with it, so there is no backward. */
typedef struct tide_layernorm_forward {
    tide_array out;          /* (R, C) written */
    tide_array x;            /* (R, C), of out's type */
    tide_array weight, bias; /* (C), of one type: possibly fp32 with bf16 rows */
    size_t R, C;             /* rows, channels */
} tide_layernorm_forward;

typedef enum tide_matmul_kind {
    TIDE_MATMUL_NT = 0, /* out (m, n) = a (m, k) b (n, k)^T: y = x W^T */
    TIDE_MATMUL_NN,     /* out (m, n) = a (m, k) b (k, n): dx = dy W */
    TIDE_MATMUL_TN      /* out (m, n) = a (k, m)^T b (k, n): dW = dy^T x */
} tide_matmul_kind;

/* out (= or +=) the product of a and b, each transposed or not according to the kind; with an
 * addend, out = addend + the product: the fp32 sum over k is complete before the addend is added to
 * it, and a bf16 or fp16 out is rounded once, after that. */
typedef struct tide_matmul {
    tide_matmul_kind kind;
    tide_array out;    /* (m, n) written or accumulated */
    tide_array a, b;   /* shapes by the kind */
    size_t m, n, k;    /* each in 1 .. INT_MAX */
    bool accumulate;   /* out += instead of out = ; false if there is an addend */
    tide_array addend; /* (m, n), of out's type, not overlapping out; data NULL: none */
} tide_matmul;

/* Products of matrices with one vector: out = weight x + bias, for each chosen matrix. Weights are
 * fp32, bf16, fp16 or int8 and are cast to fp32 as they are read; the others are of the other
 * types. The bias is added before out is rounded. */
typedef struct tide_gemv {
    tide_array out;        /* (n_chosen, m) written */
    tide_array weight;     /* (matrices, m, k) */
    tide_array x;          /* (k) */
    tide_array bias;       /* (matrices, m); data NULL: none */
    const int32_t *chosen; /* (n_chosen), each below the number of matrices; NULL: 0, 1, ... */
    size_t n_chosen;       /* matrices multiplied */
    size_t m, k;           /* rows and columns of a matrix */
} tide_gemv;

/* out_rc = bias_c, in every row. The product of a linear layer is then added to it (accumulate of
 * tide_matmul), so y = x W^T + bias is rounded once, as in PyTorch's addmm. */
typedef struct tide_bias_forward {
    tide_array out;  /* (R, C) written */
    tide_array bias; /* (C) */
    size_t R, C;     /* rows, channels */
} tide_bias_forward;

/* dbias_c = sum_r dout_rc. */
typedef struct tide_bias_backward {
    tide_array dbias; /* (C) written, the gradients' type */
    tide_array dout;  /* (R, C) */
    size_t R, C;      /* rows, channels */
} tide_bias_backward;

/* Rotates each pair (x[2i], x[2i + 1]) in place by the angle of table. The gradient of a rotation
 * is the rotation by the negative angle. */
typedef struct tide_rope {
    tide_array x;       /* (B, T, H, D) updated in place */
    const float *table; /* (2, T, D / 2): cosines, then sines (tide_fill_rope) */
    size_t B, T, H, D;  /* sequences, tokens, heads, channels of a head */
    bool inverse;       /* by the negative angle: the gradient */
} tide_rope;

/* Causal attention; scores are scaled by 1 / sqrt(D).
 * flash: lse = log of the sum of exponentials of a row's scaled scores; probs is unused.
 * naive: probs is zero above the diagonal; lse is unused. The scaled scores are in probs first,
 * rounded to its type like everything that is stored. */
typedef struct tide_attention_forward {
    tide_attention kind;
    tide_array out;     /* (B, T, H, D), that is (R, C), written */
    tide_array q, k, v; /* (B, T, H, D); q and k rotated */
    float *lse;         /* flash: (B, H, T) written; NULL: not wanted */
    tide_array probs;   /* naive: (B, H, T, T) written */
    size_t B, T, H, D;  /* sequences, tokens, heads, channels of a head */
} tide_attention_forward;

/* The gradients of q, k and v. */
typedef struct tide_attention_backward {
    tide_attention kind;
    tide_array dq, dk, dv; /* (B, T, H, D) written */
    tide_array dout;       /* (B, T, H, D) */
    tide_array out;        /* (B, T, H, D) flash; naive: data NULL, because it is already
                              released */
    tide_array q, k, v;    /* (B, T, H, D) */
    const float *lse;      /* flash: (B, H, T) */
    tide_array probs;      /* naive: (B, H, T, T) */
    tide_array dprobs;     /* naive: (B, H, T, T) scratch; holds d probs, then d scores */
    float *scratch;        /* tide_ops_attention_scratch_elements(...) */
    size_t B, T, H, D;     /* as in forward */
} tide_attention_backward;

/* out = silu(gate) * up, silu(x) = x / (1 + exp(-x)). */
typedef struct tide_swiglu_forward {
    tide_array out;      /* (n) written */
    tide_array gate, up; /* (n) */
    size_t n;            /* elements */
} tide_swiglu_forward;

/* dup = dout * silu(gate); dgate = dout * up * silu'(gate). */
typedef struct tide_swiglu_backward {
    tide_array dgate, dup; /* (n) written */
    tide_array dout;       /* (n) */
    tide_array gate, up;   /* (n) */
    size_t n;              /* elements */
} tide_swiglu_backward;

/* out = x Phi(x), Phi(x) = (1 + erf(x / sqrt(2))) / 2: GELU itself, not its approximation by tanh.
 */
typedef struct tide_gelu_forward {
    tide_array out; /* (n) written; may be x */
    tide_array x;   /* (n) */
    size_t n;       /* elements */
} tide_gelu_forward;

/* dx = dout (Phi(x) + x phi(x)), phi(x) = exp(-x^2 / 2) / sqrt(2 pi). */
typedef struct tide_gelu_backward {
    tide_array dx;   /* (n) written; may be dout */
    tide_array dout; /* (n) */
    tide_array x;    /* (n) */
    size_t n;        /* elements */
} tide_gelu_backward;

/* Mean cross-entropy over R rows, fused with its gradient: row_losses_r = log(sum_v exp(logits_rv))
 * - logits_r,target; then scale d(mean loss) / d logits = scale (softmax - onehot) / R overwrites
 * the logits. */
typedef struct tide_cross_entropy {
    tide_array logits;      /* (R, V) read, then overwritten by their gradient */
    float *row_losses;      /* (R) written */
    float *loss;            /* (1) written: the mean of row_losses */
    const int32_t *targets; /* (R), each below V */
    size_t R, V;            /* rows, vocabulary */
    double scale;           /* factor of the gradient: 1, or that of a loss scaler */
} tide_cross_entropy;

/* out = x, rounded to nearest even if the type narrows. */
typedef struct tide_cast {
    tide_array out; /* (n) written */
    tide_array x;   /* (n) */
    size_t n;       /* elements */
} tide_cast;

/* out = value. */
typedef struct tide_fill {
    tide_array out; /* (n) written */
    double value;   /* rounded to out's type */
    size_t n;       /* elements */
} tide_fill;

/* The random numbers of one tensor: Philox, keyed by (seed, stream, element), so they are the same
 * on every device and for any number of threads. */
typedef struct tide_random {
    uint64_t seed;   /* of the run */
    uint64_t stream; /* a number per tensor */
} tide_random;

/* out = normal numbers with mean 0, truncated at +-3 sigma. */
typedef struct tide_fill_normal {
    tide_array out;     /* (n) written */
    double sigma;       /* standard deviation before the truncation */
    tide_random random; /* which numbers */
    size_t n;           /* elements */
} tide_fill_normal;

/* out = uniform integers in [0, bound). */
typedef struct tide_fill_tokens {
    int32_t *out;       /* (n) written */
    size_t bound;       /* 1 .. INT32_MAX; else TIDE_LIMIT */
    tide_random random; /* which numbers */
    size_t n;           /* elements */
} tide_fill_tokens;

/* table = cos, then sin, of t * theta^(-2i / D); angles are computed in double. */
typedef struct tide_fill_rope {
    float *table; /* (2, T, D / 2) written */
    size_t T, D;  /* tokens, channels of a head */
    double theta; /* 10000 as a rule */
} tide_fill_rope;

/* One parameter with its arrays, each of n_elements. */
typedef struct tide_parameter_arrays {
    tide_array parameter, gradient; /* unscale, global_norm and clip: only the gradient */
    tide_array exp_avg, exp_avg_sq; /* AdamW's first and second moment */
    size_t n_elements;              /* of each of the four */
} tide_parameter_arrays;

/* gradients *= factor. found_inf = 1 if an element of them is infinite or NaN; otherwise it keeps
 * its value. */
typedef struct tide_unscale {
    const tide_parameter_arrays *parameters; /* (n_parameters); gradients are updated in place */
    size_t n_parameters;                     /* in the list */
    double factor;                           /* 1 / the scale of the loss */
    float *found_inf;                        /* (1) written or kept */
} tide_unscale;

/* norm = sqrt of the sum of squares of all gradients. */
typedef struct tide_global_norm {
    float *norm;                             /* (1) written */
    const tide_parameter_arrays *parameters; /* (n_parameters); gradients are read */
    size_t n_parameters;                     /* in the list */
    float *scratch;                          /* tide_ops_norm_scratch_elements(...) */
} tide_global_norm;

/* gradients *= min(1, max_norm / (norm + 1e-6)). */
typedef struct tide_clip {
    const tide_parameter_arrays *parameters; /* (n_parameters); gradients are updated in place */
    size_t n_parameters;                     /* in the list */
    const float *norm;                       /* (1), of tide_global_norm */
    double max_norm;                         /* largest norm that is not scaled */
} tide_clip;

/* The constants of AdamW; in tide_adamw's formula. */
typedef struct tide_adamw_settings {
    double lr, beta1, beta2, eps, weight_decay;
} tide_adamw_settings;

/* 1e-3, 0.9, 0.999, 1e-8, 0.01. */
void tide_adamw_settings_init(tide_adamw_settings *settings);

/* AdamW as the assignment's 2025 edition has it (tide_edition): eps is added to the square root
 * before the bias of v is corrected, and the decay follows the update.
 *
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p = p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
 *   p = p - lr weight_decay p
 *
 * Nothing is updated if found_inf is set: a gradient is infinite or NaN. */
typedef struct tide_adamw {
    tide_adamw_settings settings;
    int64_t t; /* 1 in the first step */
    /* (1) on the device: tide_adamw_step_size of t, because a captured step needs another value in
     * each replay; NULL: computed from t */
    const float *step_size;
    const float *found_inf;                  /* (1) of tide_unscale; NULL: always update */
    const tide_parameter_arrays *parameters; /* (n_parameters); all but gradients are updated */
    size_t n_parameters;                     /* in the list */
} tide_adamw;

/* lr sqrt(1 - beta2^t) / (1 - beta1^t), in double, because at t = 1 the fp32 difference 1 - beta2^t
 * would keep only four digits. */
double tide_adamw_step_size(const tide_adamw_settings *settings, int64_t t);

/* The function of operator x has type tide_x_operator on every device. */
#define TIDE_OPERATOR_TYPE(x)                                                                      \
    typedef tide_status tide_##x##_operator(tide_ops *ops, const tide_##x *call, tide_error *error);
TIDE_OPERATORS(TIDE_OPERATOR_TYPE)
#undef TIDE_OPERATOR_TYPE

typedef struct tide_ops_table {
    void (*close)(tide_ops *ops);
    /* Submits all later work to another stream; call it before use_workspace. NULL: the device has
     * only one. */
    tide_status (*use_stream)(tide_ops *ops, tide_stream stream, tide_error *error);
    /* A description of what computes: "AVX-512 kernels, 2 threads". Valid until close. */
    const char *(*describe)(const tide_ops *ops);
    /* Sets the workspace of the library for matrix products, aligned to 256 bytes. It must outlive
     * the operators' last call. NULL: the device needs none. */
    tide_status (*use_workspace)(tide_ops *ops, void *workspace, size_t n_bytes, tide_error *error);
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name takes none */
#define TIDE_OPERATOR_ENTRY(x) tide_##x##_operator *x;
    TIDE_OPERATORS(TIDE_OPERATOR_ENTRY)
#undef TIDE_OPERATOR_ENTRY
} tide_ops_table;

struct tide_ops {
    const tide_ops_table *table; /* static */
    const tide_hostmem *mem;     /* borrowed; the heap of this struct */
    tide_device *device;         /* borrowed; outlives the operators */
    tide_stream stream;          /* the stream of the operators */
    tide_recorder *recorder; /* borrowed; where operators open scopes for their parts; NULL: none */
    tide_launch_list *launches; /* borrowed; the virtual device's operators log here what they would
                                   launch on a card; NULL: no log */
    const tide_ops_table *computing; /* static; the table while a step is captured; else NULL */
};

/* The operators of `device`'s kind. `mem` is borrowed and outlives them. The caller closes them
 * before the device. */
TIDE_NODISCARD tide_status tide_ops_open(const tide_hostmem *mem, tide_device *device,
                                         tide_precision precision, tide_ops **ret_ops,
                                         tide_error *error);
void tide_ops_close(tide_ops *ops);

/* Submits the work of the operators to `stream`, which must outlive them; call it before any work
 * and before tide_ops_alloc_workspace. */
TIDE_NODISCARD tide_status tide_ops_use_stream(tide_ops *ops, tide_stream stream,
                                               tide_error *error);

/* Allocates the workspace of the device's library for matrix products and passes it to the
 * operators; does nothing if the library needs none. The caller releases it after their last
 * call. */
TIDE_NODISCARD tide_status tide_ops_alloc_workspace(tide_ops *ops, tide_cache *cache,
                                                    tide_tensor *workspace, tide_error *error);

TIDE_NODISCARD tide_status tide_ops_cpu_open(const tide_hostmem *mem, tide_device *device,
                                             tide_precision precision, tide_ops **ret_ops,
                                             tide_error *error);
TIDE_NODISCARD tide_status tide_ops_cuda_open(const tide_hostmem *mem, tide_device *device,
                                              tide_precision precision, tide_ops **ret_ops,
                                              tide_error *error);
TIDE_NODISCARD tide_status tide_ops_virtual_open(const tide_hostmem *mem, tide_device *device,
                                                 tide_precision precision, tide_ops **ret_ops,
                                                 tide_error *error);

/* While a step is captured its operators are not executed. On a device without graphs, their table
 * is that of the virtual device meanwhile; on cuda, the stream keeps their launches. */
void tide_ops_begin_capture(tide_ops *ops);
void tide_ops_end_capture(tide_ops *ops);
static inline bool tide_ops_is_captured(const tide_ops *ops) {
    return ops->computing != NULL;
}
/* Appends to the log of launches that `stream` records event `number`, or waits for it, with the
 * arguments of tide_device_event_record and tide_device_stream_wait; `kind` is TIDE_RUN_RECORD or
 * TIDE_RUN_STREAM_WAIT. Without a log it does nothing. */
TIDE_NODISCARD tide_status tide_ops_note_event(tide_ops *ops, tide_run_launch_kind kind,
                                               tide_stream stream, uint64_t number,
                                               tide_error *error);
/* ops_virtual/ops_virtual.c */
const tide_ops_table *tide_ops_virtual_table(void);

/* The parts of naive attention. On every device each part opens a scope, "scores", "softmax" and
 * "value", in this order forward and in the reverse order backward, around the computation of its
 * products or rows, or of their gradients. */
typedef enum tide_attention_part {
    TIDE_PART_SCORES = 0, /* q k^T / sqrt(D); backward dq and dk */
    TIDE_PART_SOFTMAX,    /* scores to probs; backward dprobs to dscores */
    TIDE_PART_VALUE       /* out; backward dv and dprobs */
} tide_attention_part;

/* For implementations of the table. A failed call may leave its scope open: the caller's scope
 * closes it. */
tide_scope tide_ops_part_begin(const tide_ops *ops, tide_attention_part part);
void tide_ops_part_end(const tide_ops *ops, tide_scope scope);

/* For implementations of matmul: TIDE_UNSUPPORTED unless a product with an addend is one that
 * tide_matmul describes. */
TIDE_NODISCARD tide_status tide_ops_check_addend(const tide_matmul *call, tide_error *error);

/* Scratch in fp32 elements; functions of shape only, the same on every device. */
enum { TIDE_RMSNORM_ROWS = 64, TIDE_RMSNORM_PARTIALS = 128, TIDE_NORM_CHUNK = 1 << 16 };
/* One partial sum of dweight per TIDE_RMSNORM_ROWS rows, at most TIDE_RMSNORM_PARTIALS: min(...) *
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
