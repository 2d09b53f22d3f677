/* gemm.h - matrix products: operands of either type are copied, block by block and widened to fp32,
 * into panels that a small kernel multiplies in the order in which it reads them (Goto and van de
 * Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34 (2008)).
 *
 * A panel of a is `rows` rows of op(a), one of b is `columns` columns of op(b); both are stored k
 * by k, and filled up with zeros at the edge. The kernel keeps a tile (rows, columns) of the
 * product in vector registers.
 *
 * Every element of a product is a sum in fp32 over blocks of k, in their order; the blocks depend
 * only on k. So the sum depends neither on the number of threads nor on the element's position. */
#ifndef TIDE_MODEL_OPS_CPU_GEMM_H
#define TIDE_MODEL_OPS_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "model/ops.h"

/* One operand of a product and its memory layout. */
typedef struct tide_gemm_operand {
    tide_array array; /* borrowed */
    size_t ld;        /* elements from row to row as stored */
    bool k_is_inner;  /* element (i, l), l along k: at i * ld + l; otherwise at l * ld + i */
} tide_gemm_operand;

/* Which elements of an operand to copy. */
typedef struct tide_gemm_part {
    size_t i0, n_i; /* rows of a or columns of b */
    size_t l0, n_l; /* along k; n_l at most TIDE_GEMM_K */
} tide_gemm_part;

enum {
    TIDE_GEMM_K = 384,         /* of a block: a panel of b, at most 48 KiB, streams from L2 */
    TIDE_GEMM_MAX_ROWS = 8,    /* of a tile, over all instruction sets */
    TIDE_GEMM_MAX_COLUMNS = 32 /* likewise */
};

/* The functions that are compiled once per instruction set, like tide_cpu_kernels. */
typedef struct tide_gemm_kernels {
    size_t rows, columns; /* of a tile; at most the constants above */
    /* c (rows, columns), ldc from row to row, = or += alpha * (a panel of a) * (a panel of b). */
    void (*multiply)(size_t n_l, const float *a, const float *b, float alpha, bool add, float *c,
                     size_t ldc);
    /* Panels of a: packed[panel][l][row], the last one filled up with zeros. */
    void (*pack_a)(float *packed, const tide_gemm_operand *a, const tide_gemm_part *part);
    /* Panels of b: packed[panel][l][column], likewise. */
    void (*pack_b)(float *packed, const tide_gemm_operand *b, const tide_gemm_part *part);
} tide_gemm_kernels;

/* c (m, n) = alpha op(a) op(b) + beta c in fp32, op by the kind as in ops.h; beta is 0 or 1, and 0
 * does not read c. */
typedef struct tide_gemm {
    tide_matmul_kind kind; /* which of a and b is transposed */
    size_t m, n, k;        /* of the product: (m, k) times (k, n) */
    float alpha;           /* factor of the product */
    tide_array a;          /* fp32, bf16 or fp16; borrowed, as b and c */
    size_t lda;            /* elements from row to row of a as stored */
    tide_array b;          /* likewise; must not overlap c */
    size_t ldb;            /* of b, likewise */
    float beta;            /* 0 or 1 */
    float *c;              /* (m, n), written */
    size_t ldc;            /* of c, likewise */
} tide_gemm;

/* A small product on the calling thread, with its panels on the stack (68 KiB). */
void tide_gemm_block(const tide_gemm_kernels *kernels, const tide_gemm *gemm);

/* The destination of a tile of a product. */
typedef struct tide_gemm_tile {
    size_t n_l;               /* length of the two panels along k */
    float alpha;              /* factor of the product */
    bool add;                 /* c += instead of c = */
    float *c;                 /* borrowed */
    size_t ldc;               /* elements from row to row of c */
    size_t n_rows, n_columns; /* of the tile within c; at most the kernels' */
} tide_gemm_tile;

/* c (n_rows, n_columns) = or += alpha * (a panel of a) * (a panel of b). */
void tide_gemm_multiply(const tide_gemm_kernels *kernels, const tide_gemm_tile *tile,
                        const float *a, const float *b);

#endif
