/* gemm.h - matrix products on the cuda device, by cuBLAS: row-major, with leading dimensions and in
 * batches, for the operators built on them. C and C++.
 */
#ifndef TIDE_MODEL_OPS_CUDA_GEMM_H
#define TIDE_MODEL_OPS_CUDA_GEMM_H

#include "model/ops_cuda/ops_cuda_friend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One operand, row by row in memory. */
typedef struct tide_cuda_matrix {
    tide_array array; /* borrowed; fp32, bf16 or fp16 */
    size_t ld;        /* elements from row to row */
    size_t stride;    /* elements from batch to batch */
} tide_cuda_matrix;

/* out (m, n) = alpha op(a) op(b) + beta out, n_batches times; op by the kind as in ops.h: a is (m,
 * k), of TN (k, m); b is (k, n), of NT (n, k). a and b are of one type; The result of fp32 is fp32,
 * that of bf16 and fp16 has their own type or fp32. Sums are fp32; fp32 operands are not shortened
 * unless the precision is tf32. beta 0 does not read out. */
typedef struct tide_cuda_gemm {
    tide_matmul_kind kind;      /* which of a and b is transposed */
    size_t m, n, k;             /* each in 1 .. INT_MAX, as are the leading dimensions */
    size_t n_batches;           /* in 1 .. INT_MAX; batches of out do not overlap */
    float alpha, beta;          /* factors */
    tide_cuda_matrix out, a, b; /* out must not overlap a or b */
} tide_cuda_gemm;

/* `name` is for people and static: "attention: scores". */
TIDE_NODISCARD tide_status tide_cuda_gemm_run(tide_ops *ops, const char *name,
                                              const tide_cuda_gemm *gemm, tide_error *error);

/* out (m, n) = addend (m, n) + op(a) op(b); the rest of `gemm` is as above, with one batch, alpha
 * 1, and matrices whose rows follow each other. The addend has out's type and does not overlap
 * out. */
TIDE_NODISCARD tide_status tide_cuda_gemm_add(tide_ops *ops, const char *name,
                                              const tide_cuda_gemm *gemm, const void *addend,
                                              tide_error *error);

/* cuBLAS' constant for a type, and for computing products of operands of that type. */
int tide_cuda_gemm_type(tide_dtype dtype);
int tide_cuda_gemm_compute_type(const tide_ops *ops, tide_dtype in);
/* TIDE_UNSUPPORTED or TIDE_LIMIT for types and sizes that cuBLAS does not support. */
TIDE_NODISCARD tide_status tide_cuda_gemm_check(const char *name, const tide_cuda_gemm *gemm,
                                                tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
