/* fake_cublas_internal.h - shared by the products of the fake cuBLAS and of its cuBLASLt. */
#ifndef TIDE_TESTS_FAKE_CUBLAS_INTERNAL_H
#define TIDE_TESTS_FAKE_CUBLAS_INTERNAL_H

#include <stdbool.h>

#include "fake_cublas/fake_cublas.h"

struct cublasContext {
    struct CUstream_st *stream; /* borrowed */
    void *workspace;            /* borrowed; NULL: none */
};

/* One column-major operand, or the result. */
typedef struct tide_fake_operand {
    const void *data;      /* of the first batch */
    int type;              /* TIDE_CUBLAS_R_... */
    int ld;                /* elements from column to column */
    long long stride;      /* elements from batch to batch */
    bool is_transposed;    /* op(X) = X^T */
    int n_rows, n_columns; /* as stored */
} tide_fake_operand;

typedef struct tide_fake_product {
    int m, n, k;               /* C (m, n), op(A) (m, k), op(B) (k, n) */
    int n_batches;             /* at least 0 */
    const float *alpha;        /* on the host */
    const float *beta;         /* likewise */
    tide_fake_operand a, b, c; /* as given */
    int compute_type;          /* TIDE_CUBLAS_COMPUTE_... */
} tide_fake_product;

/* Counts a mistake of the caller, keeps its text and returns the status. */
int tide_fake_cublas_mistake(int status, const char *format, ...) TIDE_PRINTF(2, 3);

/* 0, or the answer to an operand that no GPU could read. */
int tide_fake_cublas_check(const char *name, const tide_fake_operand *x, int n_batches);

/* Checks the product and computes it into `c`, which may differ from p->c. */
int tide_fake_cublas_run(struct cublasContext *handle, const char *function,
                         const tide_fake_product *p, void *c);

/* The members of the table that are cuBLASLt's. */
void tide_fake_cublaslt_fill(tide_cublas *table);

#endif
