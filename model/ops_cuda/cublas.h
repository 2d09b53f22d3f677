/* cublas.h - the functions of cuBLAS that are used, as a table that is filled when a cuda device is
 * opened. Linking the library would cost every start of the program 0.1 s and 200 MB, with or
 * without a GPU, and would tie it to machines that have the library. Tests fill the table with
 * their own library.
 *
 * The declarations are ours: no toolkit is needed to compile this. Matrices are column-major, as in
 * BLAS. Every function returns a cublasStatus_t, 0 for success. C and C++. */
#ifndef TIDE_MODEL_OPS_CUDA_CUBLAS_H
#define TIDE_MODEL_OPS_CUDA_CUBLAS_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cublasContext; /* cublasHandle_t points to it */
struct CUstream_st;   /* cudaStream_t points to it */

/* Values of cuBLAS' enumerations, which are part of its interface, under its names without CUBLAS_.
 */
typedef enum tide_cublas_constant {
    TIDE_CUBLAS_OP_N = 0,
    TIDE_CUBLAS_OP_T = 1,
    TIDE_CUBLAS_R_32F = 0,   /* cudaDataType_t */
    TIDE_CUBLAS_R_16F = 2,   /* cudaDataType_t */
    TIDE_CUBLAS_R_16BF = 14, /* cudaDataType_t */
    TIDE_CUBLAS_COMPUTE_32F = 68,
    TIDE_CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    TIDE_CUBLAS_GEMM_DEFAULT = -1,
    TIDE_CUBLAS_DEFAULT_MATH = 0,
    TIDE_CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
    TIDE_CUBLAS_STATUS_NOT_INITIALIZED = 1,
    TIDE_CUBLAS_STATUS_ALLOC_FAILED = 3,
    TIDE_CUBLAS_STATUS_INVALID_VALUE = 7,
    TIDE_CUBLAS_STATUS_EXECUTION_FAILED = 13,
    TIDE_CUBLAS_STATUS_NOT_SUPPORTED = 15
} tide_cublas_constant;

typedef struct tide_cublas {
    int (*create)(struct cublasContext **ret_handle);
    int (*destroy)(struct cublasContext *handle);
    int (*get_version)(struct cublasContext *handle, int *ret_version);
    /* Takes any workspace away. */
    int (*set_stream)(struct cublasContext *handle, struct CUstream_st *stream);
    /* The workspace is borrowed; a multiple of 256 as address. */
    int (*set_workspace)(struct cublasContext *handle, void *workspace, size_t n_bytes);
    int (*set_math_mode)(struct cublasContext *handle, int mode);
    const char *(*get_status_string)(int status);
    /* C (m, n) = alpha op(A) (m, k) op(B) (k, n) + beta C. */
    int (*gemm_ex)(struct cublasContext *handle, int op_a, int op_b, int m, int n, int k,
                   const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b,
                   int ldb, const void *beta, void *c, int type_c, int ldc, int compute_type,
                   int algorithm);
    /* The same n_batches times, each matrix one stride of elements further on. */
    int (*gemm_strided_batched_ex)(struct cublasContext *handle, int op_a, int op_b, int m, int n,
                                   int k, const void *alpha, const void *a, int type_a, int lda,
                                   long long stride_a, const void *b, int type_b, int ldb,
                                   long long stride_b, const void *beta, void *c, int type_c,
                                   int ldc, long long stride_c, int n_batches, int compute_type,
                                   int algorithm);
} tide_cublas;

/* Opens the library and fills the table; the library stays open until the process ends. It is the
 * one that TIDEMARK_CUBLAS names, or the first that is found: by the loader as libcublas.so.13 or
 * .12, in the toolkit's folders, or where pip puts it beside python's packages. TIDE_UNSUPPORTED,
 * naming what was tried, if there is none. */
TIDE_NODISCARD tide_status tide_cublas_load(tide_cublas *ret_table, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
