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

/* Stored in the handles of cuBLASLt's layouts and descriptions, and in the program's memory:
 * NVIDIA's structures have 64 bytes for a layout, and since CUDA 11.8 at least 184 for a
 * description. */
typedef struct tide_vc_layout {
    int type; /* cudaDataType */
    int count;
    uint64_t n_rows, n_columns;
    int64_t leading, stride, plane; /* plane: bytes to the imaginary parts; 0: not separate */
    int order, batch_mode;
} tide_vc_layout;

typedef struct tide_vc_description {
    int computation; /* cublasComputeType_t */
    int ta, tb, tc;  /* cublasOperation_t */
    int n_bytes;     /* that the structure may use: old programs have less room */
    int scale_type, pointer_mode, fill, epilogue, n_multiprocessors, aux_type, bias_type;
    uint64_t bias, aux, scales[4], largest, aux_scale, aux_largest, out_scale, emulation;
    int64_t bias_stride, aux_leading, aux_stride, alpha_stride;
    unsigned char is_fast, scale_modes[6]; /* of A, B, C, D, the auxiliary matrix, and D's output */
} tide_vc_description;

/* Stored in the handle of cuBLASLt's preferences, or in the program's memory. */
typedef struct tide_vc_preference {
    uint64_t workspace_bytes, algorithms; /* algorithms: a mask */
    int search, reductions;               /* reductions: a mask */
    int alignments[4];                    /* of A, B, C and D, in bytes */
    float n_waves;
} tide_vc_preference;

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
