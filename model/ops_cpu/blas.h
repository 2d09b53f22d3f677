/* blas.h - matrix products on the calling thread: OpenBLAS where it can be opened at run time, else
 * plain C.
 *
 * The operators cut their work into pieces that depend on the shapes alone and hand each piece to
 * one thread, so results do not depend on how many threads there are; OpenBLAS is therefore kept to
 * one thread per call.
 */
#ifndef TIDE_MODEL_OPS_CPU_BLAS_H
#define TIDE_MODEL_OPS_CPU_BLAS_H

#include <stddef.h>

#include "common/status.h"
#include "model/ops.h"
#include "model/ops_cpu/gemm.h"

/* cblas_sgemm with 32-bit integers; order and transposes by CBLAS' numbers. */
typedef void (*tide_sgemm_function)(int order, int transpose_a, int transpose_b, int m, int n,
                                    int k, float alpha, const float *a, int lda, const float *b,
                                    int ldb, float beta, float *c, int ldc);

typedef struct tide_blas {
    tide_sgemm_function sgemm; /* NULL: plain C; the library stays mapped until the process ends */
    char name[96];             /* for people: "OpenBLAS 0.3.21" */
} tide_blas;

/* Opens the file that the environment variable TIDEMARK_OPENBLAS names ("none": plain C), without
 * it libopenblas.so.0, and without that plain C. TIDE_DEVICE_ABSENT when the file that was asked
 * for cannot be used. */
TIDE_NODISCARD tide_status tide_blas_open(tide_blas *ret_blas, tide_error *error);

/* Any thread; inside an OpenMP region the thread has called tide_blas_enter before. */
void tide_blas_gemm(const tide_blas *blas, const tide_gemm *gemm);

/* Called once by each thread of a parallel region before its first product: from then on, until the
 * region ends, this thread's products use no other thread. */
void tide_blas_enter(void);

/* plain_gemm.c: the same in C, for machines without OpenBLAS. */
void tide_plain_gemm(const tide_gemm *gemm);

#endif
