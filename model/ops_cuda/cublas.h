/* cublas.h - the functions of cuBLAS that we use, in a table that is filled when a cuda device is
 * opened. Linking the library would cost every start of the program 0.1 s and 200 MB, with or
 * without a GPU, and would tie it to machines that have the library. Tests fill the table with
 * their own library.
 *
 * The declarations are ours: no toolkit is needed to compile this. Matrices are column-major, as in
 * BLAS. Every function returns a cublasStatus_t, 0 for success. C and C++. */
#ifndef TIDE_MODEL_OPS_CUDA_CUBLAS_H
#define TIDE_MODEL_OPS_CUDA_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cublasContext;               /* cublasHandle_t points to it; cuBLASLt also accepts it */
struct CUstream_st;                 /* cudaStream_t points to it */
struct tide_cublaslt_operation_st;  /* the target of cublasLtMatmulDesc_t */
struct tide_cublaslt_layout_st;     /* the target of cublasLtMatrixLayout_t */
struct tide_cublaslt_preference_st; /* the target of cublasLtMatmulPreference_t */

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
    TIDE_CUBLAS_STATUS_NOT_SUPPORTED = 15,
    TIDE_CUBLASLT_DESC_TRANSA = 3,            /* int, an operation */
    TIDE_CUBLASLT_DESC_TRANSB = 4,            /* the same */
    TIDE_CUBLASLT_PREF_WORKSPACE_BYTES = 1,   /* uint64_t, at most */
    TIDE_CUBLASLT_PREF_REDUCTION_SCHEMES = 3, /* uint32_t, a mask */
    TIDE_CUBLASLT_PREF_ALIGNMENT_A = 5,       /* uint32_t, bytes; B, C and D follow */
    TIDE_CUBLASLT_REDUCTION_COMPUTE_TYPE = 2  /* in that mask */
} tide_cublas_constant;

/* A way to compute a product, as cuBLASLt chose it: cublasLtMatmulHeuristicResult_t. */
typedef struct tide_cublaslt_choice {
    uint64_t algorithm[8];  /* opaque */
    size_t workspace_bytes; /* needed */
    int status;             /* 0: the rest is valid */
    float n_waves;          /* of blocks on the GPU */
    int reserved[4];        /* of the library */
} tide_cublaslt_choice;

typedef struct tide_cublas {
    int (*create)(struct cublasContext **ret_handle);
    int (*destroy)(struct cublasContext *handle);
    int (*get_version)(struct cublasContext *handle, int *ret_version);
    /* Resets the workspace. */
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
    /* cuBLASLt, on which cuBLAS itself is built: its functions are found through the same library.
     * An operation, layouts and a preference are created and destroyed by the caller. */
    int (*lt_operation_create)(struct tide_cublaslt_operation_st **ret_operation, int compute_type,
                               int scale_type);
    int (*lt_operation_destroy)(struct tide_cublaslt_operation_st *operation);
    int (*lt_operation_set)(struct tide_cublaslt_operation_st *operation, int attribute,
                            const void *value, size_t n_bytes);
    int (*lt_layout_create)(struct tide_cublaslt_layout_st **ret_layout, int type, uint64_t rows,
                            uint64_t columns, int64_t ld);
    int (*lt_layout_destroy)(struct tide_cublaslt_layout_st *layout);
    int (*lt_preference_create)(struct tide_cublaslt_preference_st **ret_preference);
    int (*lt_preference_destroy)(struct tide_cublaslt_preference_st *preference);
    int (*lt_preference_set)(struct tide_cublaslt_preference_st *preference, int attribute,
                             const void *value, size_t n_bytes);
    /* At most the n_wanted best choices. */
    int (*lt_choose)(struct cublasContext *handle, struct tide_cublaslt_operation_st *operation,
                     struct tide_cublaslt_layout_st *a, struct tide_cublaslt_layout_st *b,
                     struct tide_cublaslt_layout_st *c, struct tide_cublaslt_layout_st *d,
                     struct tide_cublaslt_preference_st *preference, int n_wanted,
                     tide_cublaslt_choice *ret_choices, int *ret_n_choices);
    /* D (m, n) = alpha op(A) op(B) + beta C. The workspace is borrowed for this call. */
    int (*lt_matmul)(struct cublasContext *handle, struct tide_cublaslt_operation_st *operation,
                     const void *alpha, const void *a, struct tide_cublaslt_layout_st *layout_a,
                     const void *b, struct tide_cublaslt_layout_st *layout_b, const void *beta,
                     const void *c, struct tide_cublaslt_layout_st *layout_c, void *d,
                     struct tide_cublaslt_layout_st *layout_d, const uint64_t *algorithm,
                     void *workspace, size_t workspace_bytes, struct CUstream_st *stream);
} tide_cublas;

/* Opens the library and fills the table; the library stays open until the process ends. It is the
 * one that TIDEMARK_CUBLAS names, or the first found: by the loader as libcublas.so.13 or .12, in
 * the toolkit's folders, or in pip's folder for Python packages. TIDE_UNSUPPORTED, naming the
 * places tried, if none is found. */
TIDE_NODISCARD tide_status tide_cublas_load(tide_cublas *ret_table, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
