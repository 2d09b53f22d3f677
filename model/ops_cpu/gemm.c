#include "model/ops_cpu/gemm.h"

#include <stdalign.h>

/* The blocks of a small product, whose panels need 68 KiB of stack. */
enum { BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 128 };

void tide_gemm_multiply(const tide_gemm_kernels *kernels, const tide_gemm_tile *tile,
                        const float *a, const float *b) {
    size_t columns = kernels->columns;
    if (tile->n_rows == kernels->rows && tile->n_columns == columns) {
        kernels->multiply(tile->n_l, a, b, tile->alpha, tile->add, tile->c, tile->ldc);
        return;
    }
    alignas(64) float whole[TIDE_GEMM_MAX_ROWS * TIDE_GEMM_MAX_COLUMNS];
    kernels->multiply(tile->n_l, a, b, tile->alpha, false, whole, columns);
    for (size_t i = 0; i < tile->n_rows; i++) {
        float *row = tile->c + i * tile->ldc;
        for (size_t j = 0; j < tile->n_columns; j++) {
            row[j] = tile->add ? row[j] + whole[i * columns + j] : whole[i * columns + j];
        }
    }
}

static size_t at_most(size_t n, size_t bound) {
    return n < bound ? n : bound;
}

/* c[i0 ..)[j0 ..) = or += the product over one block of k, whose panels are packed. */
static void multiply_block(const tide_gemm_kernels *kernels, const tide_gemm *gemm,
                           const tide_gemm_part *part_a, const tide_gemm_part *part_b,
                           const float *a, const float *b) {
    tide_gemm_tile tile = {.n_l = part_a->n_l,
                           .alpha = gemm->alpha,
                           .add = gemm->beta > 0 || part_a->l0 > 0,
                           .ldc = gemm->ldc};
    for (size_t j = 0; j < part_b->n_i; j += kernels->columns) {
        for (size_t i = 0; i < part_a->n_i; i += kernels->rows) {
            tile.c = gemm->c + (part_a->i0 + i) * gemm->ldc + part_b->i0 + j;
            tile.n_rows = at_most(part_a->n_i - i, kernels->rows);
            tile.n_columns = at_most(part_b->n_i - j, kernels->columns);
            tide_gemm_multiply(kernels, &tile, a + i * tile.n_l, b + j * tile.n_l);
        }
    }
}

void tide_gemm_block(const tide_gemm_kernels *kernels, const tide_gemm *gemm) {
    alignas(64) float packed_a[(BLOCK_M + TIDE_GEMM_MAX_ROWS) * BLOCK_K];
    alignas(64) float packed_b[BLOCK_N * BLOCK_K];
    const tide_gemm_operand a = {gemm->a, gemm->lda, gemm->kind != TIDE_MATMUL_TN};
    const tide_gemm_operand b = {gemm->b, gemm->ldb, gemm->kind == TIDE_MATMUL_NT};
    for (size_t j = 0; j < gemm->n; j += BLOCK_N) {
        for (size_t l = 0; l < gemm->k; l += BLOCK_K) {
            size_t n_l = at_most(gemm->k - l, BLOCK_K);
            const tide_gemm_part part_b = {j, at_most(gemm->n - j, BLOCK_N), l, n_l};
            kernels->pack_b(packed_b, &b, &part_b);
            for (size_t i = 0; i < gemm->m; i += BLOCK_M) {
                const tide_gemm_part part_a = {i, at_most(gemm->m - i, BLOCK_M), l, n_l};
                kernels->pack_a(packed_a, &a, &part_a);
                multiply_block(kernels, gemm, &part_a, &part_b, packed_a, packed_b);
            }
        }
    }
}
