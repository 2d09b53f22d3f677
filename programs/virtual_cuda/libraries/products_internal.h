/* products_internal.h - the work that cuBLAS and cuBLASLt are asked to do, for the launch log.
 *
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_PRODUCTS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_PRODUCTS_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/wire/run_launches.h"

/* Stored in the handle of cuBLAS; zeros are the library's defaults. */
typedef struct tide_vc_blas_modes {
    int math, pointer, atomics;
    int n_multiprocessors; /* that the program wants to use; 0: all */
    void *stream;
} tide_vc_blas_modes;

/* Stored in the handles of cuBLASLt's layouts and descriptions. */
typedef struct tide_vc_layout {
    int type; /* cudaDataType */
    int count;
    uint64_t n_rows, n_columns;
    int64_t leading, stride, plane; /* in elements; as the program set them */
    int order, batch_mode;
} tide_vc_layout;

typedef struct tide_vc_description {
    int computation;                                       /* cublasComputeType_t */
    int ta, tb;                                            /* cublasOperation_t */
    int tc, scale_type, pointer_mode, fill_mode, epilogue; /* as the program set them */
} tide_vc_description;

/* Products of matrices of one size, as passed to cuBLAS. */
typedef struct tide_vc_product {
    int ta, tb; /* cublasOperation_t */
    int m, n, k, count;
    bool is_typed;      /* the types are cudaDataType; else tide_run_type */
    int type, out_type; /* of A and B; of C */
    int computation;    /* cublasComputeType_t; 0: not given */
} tide_vc_product;

/* `handle`: NULL is allowed, for programs that do not create one. */
void tide_vc_blas_product(const void *handle, const tide_vc_product *product);
void tide_vc_blas_kernel(const void *handle, const char *name, uint64_t n, uint64_t bytes_each);

/* For cuBLASLt; does nothing if a description or a layout is NULL. */
void tide_vc_described_product(const tide_vc_description *description, const tide_vc_layout *a,
                               const tide_vc_layout *d, void *stream);

/* Unknown work of a library, on an unknown stream. */
void tide_vc_other_work(const char *name);

#endif
