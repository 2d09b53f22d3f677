/* c (m, n) = alpha op(a) op(b) + beta c on one thread.
 *
 * b is copied block by block into (K_BLOCK, N_BLOCK), whose rows are then added up with the weights
 * that a row of a gives: the inner loop runs along n without a reduction, so that it is vectorised
 * for every kind. */
#include <string.h>

#include "model/ops_cpu/blas.h"

enum {
    K_BLOCK = 128, /* 64 KiB of b: half of a small L2, beside c and a */
    N_BLOCK = 128
};

/* packed[l][j] = op(b)[k0 + l][n0 + j] */
static void pack_b(const tide_gemm *gemm, size_t k0, size_t n_k, size_t n0, size_t n_n,
                   float *packed) {
    for (size_t l = 0; l < n_k; l++) {
        for (size_t j = 0; j < n_n; j++) {
            packed[l * N_BLOCK + j] = gemm->kind == TIDE_MATMUL_NT
                                          ? gemm->b[(n0 + j) * gemm->ldb + k0 + l]
                                          : gemm->b[(k0 + l) * gemm->ldb + n0 + j];
        }
    }
}

static float element_of_a(const tide_gemm *gemm, size_t i, size_t l) {
    return gemm->kind == TIDE_MATMUL_TN ? gemm->a[l * gemm->lda + i] : gemm->a[i * gemm->lda + l];
}

/* c[i][n0 ..] += alpha op(a)[i][k0 ..] packed */
static void add_row(const tide_gemm *gemm, size_t i, size_t k0, size_t n_k, size_t n0, size_t n_n,
                    const float *packed) {
    float sums[N_BLOCK];
    memset(sums, 0, sizeof(sums));
    for (size_t l = 0; l < n_k; l++) {
        float weight = element_of_a(gemm, i, k0 + l);
        const float *row = packed + l * N_BLOCK;
#pragma omp simd
        for (size_t j = 0; j < N_BLOCK; j++) {
            sums[j] += weight * row[j];
        }
    }
    float *c = gemm->c + i * gemm->ldc + n0;
    for (size_t j = 0; j < n_n; j++) {
        c[j] += gemm->alpha * sums[j];
    }
}

static void scale_c(const tide_gemm *gemm) {
    for (size_t i = 0; i < gemm->m; i++) {
        float *c = gemm->c + i * gemm->ldc;
        for (size_t j = 0; j < gemm->n; j++) {
            c[j] = gemm->beta == 0 ? 0 : gemm->beta * c[j];
        }
    }
}

void tide_plain_gemm(const tide_gemm *gemm) {
    float packed[K_BLOCK * N_BLOCK];
    memset(packed, 0, sizeof(packed));
    scale_c(gemm);
    for (size_t n0 = 0; n0 < gemm->n; n0 += N_BLOCK) {
        size_t n_n = gemm->n - n0 < N_BLOCK ? gemm->n - n0 : N_BLOCK;
        for (size_t k0 = 0; k0 < gemm->k; k0 += K_BLOCK) {
            size_t n_k = gemm->k - k0 < K_BLOCK ? gemm->k - k0 : K_BLOCK;
            pack_b(gemm, k0, n_k, n0, n_n, packed);
            for (size_t i = 0; i < gemm->m; i++) {
                add_row(gemm, i, k0, n_k, n0, n_n, packed);
            }
        }
    }
}
