/* out (m, n) = a (m, k) b (n, k)^T, or a (m, k) b (k, n), or a (k, m)^T b (k, n); with accumulate
 * out += .
 *
 * out is cut into tiles by its shape alone; a tile is one product on one thread. */
#include <limits.h>

#include "model/ops_cpu/ops_cpu_internal.h"

/* Small enough that d_model 768 over 512 rows makes 6 tiles. OpenBLAS packs both operands anew for
 * each tile, which takes 4 to 11 % of one core's speed at the shapes of size small (measured
 * against one product of the whole, on an AMD EPYC core that reaches 100 GFLOP/s). */
enum { TILE = 256 };

/* Tiles along a dimension of n elements, and the first element of tile i: parts as equal as
 * multiples of 16 allow, so that no vector register is left half empty. */
static size_t n_tiles(size_t n) {
    return (n + TILE - 1) / TILE;
}

static size_t tile_begin(size_t i, size_t n) {
    size_t part = (n + n_tiles(n) - 1) / n_tiles(n);
    size_t begin = i * ((part + 15) / 16 * 16);
    return begin < n ? begin : n;
}

/* The product of out[m0 .. m1)[n0 .. n1). */
static tide_gemm tile_product(const tide_matmul *call, size_t m0, size_t m1, size_t n0, size_t n1) {
    size_t lda = call->kind == TIDE_MATMUL_TN ? call->m : call->k;
    size_t ldb = call->kind == TIDE_MATMUL_NT ? call->k : call->n;
    const float *a = call->a.data;
    const float *b = call->b.data;
    return (tide_gemm){
        .kind = call->kind,
        .m = m1 - m0,
        .n = n1 - n0,
        .k = call->k,
        .alpha = 1,
        .a = call->kind == TIDE_MATMUL_TN ? a + m0 : a + m0 * lda,
        .lda = lda,
        .b = call->kind == TIDE_MATMUL_NT ? b + n0 * ldb : b + n0,
        .ldb = ldb,
        .beta = call->accumulate ? 1.0F : 0.0F,
        .c = (float *)call->out.data + m0 * call->n + n0,
        .ldc = call->n,
    };
}

tide_status tide_cpu_matmul(tide_ops *ops, const tide_matmul *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("matmul", (const tide_array[]){call->out, call->a, call->b}, 3,
                                    error));
    if (call->m > INT_MAX || call->n > INT_MAX || call->k > INT_MAX) {
        return tide_fail(error, TIDE_LIMIT, "matmul: (%zu, %zu, %zu) exceeds 2^31 - 1", call->m,
                         call->n, call->k);
    }
    size_t n_wide = n_tiles(call->n);
    size_t n_all = n_tiles(call->m) * n_wide;
#pragma omp parallel num_threads(cpu->n_threads)
    {
        tide_blas_enter();
#pragma omp for schedule(dynamic)
        for (size_t tile = 0; tile < n_all; tile++) { /* out[tile of m][tile of n] */
            size_t i = tile / n_wide;
            size_t j = tile % n_wide;
            const tide_gemm product =
                tile_product(call, tile_begin(i, call->m), tile_begin(i + 1, call->m),
                             tile_begin(j, call->n), tile_begin(j + 1, call->n));
            tide_blas_gemm(&cpu->blas, &product);
        }
    }
    return TIDE_OK;
}
