/* ops_cuda_internal.h - what the operators of the cuda device share: their state, checks, and how
 * the result of a launch becomes a status. C and C++.
 *
 * Each operator is the fast twin of tide_cpu_X in model/ops_cpu/x.c; contracts in ops.h. Arithmetic
 * is fp32, what is stored as bf16 is rounded once, and every sum has an order that depends on
 * shapes alone, so the results are the same, to the bit, in every run and on every number of
 * multiprocessors.
 */
#ifndef TIDE_MODEL_OPS_CUDA_OPS_CUDA_INTERNAL_H
#define TIDE_MODEL_OPS_CUDA_OPS_CUDA_INTERNAL_H

#include <cuda_runtime_api.h>

#include "model/ops.h"
#include "model/ops_cuda/cublas.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_CUDA_LOWEST_CAPABILITY = 80 }; /* 8.0: bf16 and asynchronous copies */

typedef struct tide_ops_cuda {
    tide_ops ops;        /* first member */
    int ordinal;         /* the runtime's number of the GPU */
    unsigned max_blocks; /* of a grid whose kernel loops over the rest; at least 1; never changes a
                            result */
    tide_cublas cublas;  /* its functions */
    struct cublasContext *handle; /* owned */
    int fp32_compute_type;        /* how fp32 operands are multiplied: strictly, or as TF32 */
    char description[160];        /* for people */
} tide_ops_cuda;

static inline const tide_ops_cuda *tide_ops_cuda_of(const tide_ops *ops) {
    return (const tide_ops_cuda *)(const void *)ops;
}

/* Makes the operators' GPU the calling thread's current one: before what is no launch. */
void tide_cuda_make_current(const tide_ops *ops);
/* For a launch: what the operators are ordered on, as the runtime calls it. Makes their GPU the
 * calling thread's current one, since the thread may have launched on another. */
cudaStream_t tide_cuda_stream(const tide_ops *ops);

/* The number of blocks of n_threads for n_items that are handed out in a loop over the grid; at
 * least 1. */
unsigned tide_cuda_grid(const tide_ops *ops, size_t n_items, unsigned n_threads);

/* TIDE_UNSUPPORTED, naming the operator, unless all arrays are of one type, fp32 or bf16. */
TIDE_NODISCARD tide_status tide_cuda_need_one_type(const char *operator_name,
                                                   const tide_array *arrays, size_t n_arrays,
                                                   tide_error *error);

/* What TIDE_LAUNCH gave, as a status; `launch_name` is for people: "swiglu_forward". */
TIDE_NODISCARD tide_status tide_cuda_launched(const tide_ops *ops, const char *launch_name,
                                              int result, tide_error *error);

/* What a function of cuBLAS gave, as a status; `call` is for people and static. */
TIDE_NODISCARD tide_status tide_cuda_multiplied(const tide_ops *ops, const char *call, int result,
                                                tide_error *error);

/* The operators; contracts in ops.h. */
tide_status tide_cuda_embedding_forward(tide_ops *ops, tide_array out, tide_array table,
                                        const int32_t *tokens, size_t R, size_t C,
                                        tide_error *error);
tide_status tide_cuda_embedding_backward(tide_ops *ops, tide_array dtable, tide_array dout,
                                         const int32_t *tokens, size_t R, size_t C, size_t V,
                                         tide_error *error);
tide_status tide_cuda_rmsnorm_forward(tide_ops *ops, const tide_rmsnorm_forward *call,
                                      tide_error *error);
tide_status tide_cuda_rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                       tide_error *error);
tide_status tide_cuda_matmul(tide_ops *ops, const tide_matmul *call, tide_error *error);
tide_status tide_cuda_rope(tide_ops *ops, tide_array x, const float *table, size_t B, size_t T,
                           size_t H, size_t D, bool inverse, tide_error *error);
tide_status tide_cuda_attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                        tide_error *error);
tide_status tide_cuda_attention_backward(tide_ops *ops, const tide_attention_backward *call,
                                         tide_error *error);
tide_status tide_cuda_swiglu_forward(tide_ops *ops, tide_array out, tide_array gate, tide_array up,
                                     size_t n, tide_error *error);
tide_status tide_cuda_swiglu_backward(tide_ops *ops, tide_array dgate, tide_array dup,
                                      tide_array dout, tide_array gate, tide_array up, size_t n,
                                      tide_error *error);
tide_status tide_cuda_gelu_forward(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                   tide_error *error);
tide_status tide_cuda_gelu_backward(tide_ops *ops, tide_array dx, tide_array dout, tide_array x,
                                    size_t n, tide_error *error);
tide_status tide_cuda_layernorm_forward(tide_ops *ops, const tide_layernorm_forward *call,
                                        tide_error *error);
tide_status tide_cuda_gemv(tide_ops *ops, const tide_gemv *call, tide_error *error);
tide_status tide_cuda_residual_add(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                   tide_error *error);
tide_status tide_cuda_cross_entropy(tide_ops *ops, const tide_cross_entropy *call,
                                    tide_error *error);
tide_status tide_cuda_cast(tide_ops *ops, tide_array out, tide_array x, size_t n,
                           tide_error *error);
tide_status tide_cuda_fill(tide_ops *ops, tide_array out, double value, size_t n,
                           tide_error *error);
tide_status tide_cuda_fill_normal(tide_ops *ops, tide_array out, double sigma, tide_random random,
                                  size_t n, tide_error *error);
tide_status tide_cuda_fill_tokens(tide_ops *ops, int32_t *out, size_t bound, tide_random random,
                                  size_t n, tide_error *error);
tide_status tide_cuda_fill_rope(tide_ops *ops, float *table, size_t T, size_t D, double theta,
                                tide_error *error);
tide_status tide_cuda_global_norm(tide_ops *ops, const tide_parameter_arrays *parameters,
                                  size_t n_parameters, float *scratch, float *norm,
                                  tide_error *error);
tide_status tide_cuda_clip(tide_ops *ops, const tide_parameter_arrays *parameters,
                           size_t n_parameters, const float *norm, double max_norm,
                           tide_error *error);
tide_status tide_cuda_adamw(tide_ops *ops, const tide_adamw *adamw,
                            const tide_parameter_arrays *parameters, size_t n_parameters,
                            tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
