/* ops_cuda_internal.h - the shared parts of the cuda device's operators: their state, checks, and
 * the conversion of a launch's result into a status. C and C++.
 *
 * Each operator is the fast twin of tide_cpu_X in model/ops_cpu/x.c; contracts in ops.h. Arithmetic
 * is fp32, a narrower result is rounded once, and the order of every sum depends only on shapes, so
 * results are the same, to the bit, in every run and on any number of multiprocessors. */
#ifndef TIDE_MODEL_OPS_CUDA_OPS_CUDA_FRIEND_H
#define TIDE_MODEL_OPS_CUDA_OPS_CUDA_FRIEND_H

#include <cuda_runtime_api.h>

#include "model/ops.h"
#include "model/ops_cuda/cublas.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_CUDA_LOWEST_CAPABILITY = 80 }; /* 8.0: bf16 and asynchronous copies */

/* The description of a product with an addend, without its numbers. */
typedef struct tide_cuda_plan_key {
    tide_matmul_kind kind;  /* as in ops.h, like m, n and k */
    size_t m, n, k;         /* each in 1 .. INT_MAX; m 0: of no product */
    tide_dtype in, out;     /* types of the operands, and of addend and out */
    uint32_t alignments[4]; /* of the addresses of cuBLAS' A, B, C and D, in bytes */
    size_t workspace_bytes; /* that cuBLAS was given */
} tide_cuda_plan_key;

/* A product with an addend as cuBLASLt runs it (matmul_addend.c). Preparing one takes several
 * calls, so each is kept for the next product of its shape: a transformer has two such shapes. */
typedef struct tide_cuda_plan {
    tide_cuda_plan_key key;                       /* the product for which it was made */
    struct tide_cublaslt_operation_st *operation; /* owned, like the layouts */
    struct tide_cublaslt_layout_st *a, *b, *c;    /* of cuBLAS' A, B, and of both C and D */
    tide_cublaslt_choice choice;                  /* how it is computed; status 0 */
    bool has_choice; /* false: cuBLASLt cannot compute it; cublasGemmEx does */
} tide_cuda_plan;

enum { TIDE_CUDA_PLANS = 4 };

typedef struct tide_ops_cuda {
    tide_ops ops;        /* first member */
    int ordinal;         /* the runtime's number of the GPU */
    unsigned max_blocks; /* of a grid whose kernel loops over the rest; at least 1; does not affect
                            results */
    tide_cublas cublas;  /* its functions */
    struct cublasContext *handle; /* owned */
    int fp32_compute_type;        /* how fp32 operands are multiplied: strictly, or as TF32 */
    void *workspace;              /* borrowed; cuBLAS' current workspace; NULL: none yet */
    size_t workspace_bytes;       /* of it */
    tide_cuda_plan plans[TIDE_CUDA_PLANS]; /* the first n_plans, each made once */
    size_t n_plans;                        /* so far; the oldest are replaced in turn */
    char description[160];                 /* for people */
} tide_ops_cuda;

static inline const tide_ops_cuda *tide_ops_cuda_of(const tide_ops *ops) {
    return (const tide_ops_cuda *)(const void *)ops;
}

/* Makes the operators' GPU the calling thread's current one. Call it before anything but a launch.
 */
void tide_cuda_make_current(const tide_ops *ops);
/* For a launch: the operators' stream. Makes their GPU the calling thread's current one, because
 * the thread may have launched on another. */
cudaStream_t tide_cuda_stream(const tide_ops *ops);

/* Destroys the plans of products with an addend. */
void tide_cuda_plans_fini(tide_ops_cuda *cuda);

/* The number of blocks of n_threads for a kernel that loops over n_items; at least 1. */
unsigned tide_cuda_grid(const tide_ops *ops, size_t n_items, unsigned n_threads);

/* TIDE_UNSUPPORTED, naming the operator, unless all arrays are of one type, fp32, bf16
 * or fp16. */
TIDE_NODISCARD tide_status tide_cuda_need_one_type(const char *operator_name,
                                                   const tide_array *arrays, size_t n_arrays,
                                                   tide_error *error);

/* The result of TIDE_LAUNCH as a status; `launch_name` is for people: "swiglu_forward". */
TIDE_NODISCARD tide_status tide_cuda_launched(const tide_ops *ops, const char *launch_name,
                                              int result, tide_error *error);

/* The result of a function of cuBLAS as a status; `call` is for people and static. */
TIDE_NODISCARD tide_status tide_cuda_multiplied(const tide_ops *ops, const char *call, int result,
                                                tide_error *error);

/* The operators: tide_cuda_x for each x; contracts in ops.h. */
#define TIDE_OPERATOR_TWIN(x) tide_##x##_operator tide_cuda_##x;
TIDE_OPERATORS(TIDE_OPERATOR_TWIN)
#undef TIDE_OPERATOR_TWIN

#ifdef __cplusplus
}
#endif

#endif
