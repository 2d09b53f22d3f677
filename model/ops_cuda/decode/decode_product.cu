/* out (n_rows, m) (= or +=) scale * (weight (matrix chosen (n_rows), m, k) x (n_rows / n_shares,
 * k)); weights of x's type or int8, cast to fp32 at their use, scales bf16
 * (model/decode/operators.h).
 *
 * A warp has a row of a matrix. Its lanes take the row's packs of 16 bytes in turn, so weights
 * arrive in whole cache lines, and multiply each pack with up to ROWS rows of x, those that chose
 * the matrix: a weight is read once for that many rows, and not at all if no row chose its matrix.
 * One row of x, which is a pass over one token, is the case limited by memory bandwidth; its loop
 * is unrolled, so a lane can have several packs in flight. x stays in the cache of the
 * multiprocessor.
 * Rows are summed in fp32, by lane and then over a tree, in an order that depends only on k and the
 * alignment, and the scale is applied to the sum. Prompts of bf16 models have a kernel for many
 * rows (decode_tiles.cu). */
#include "model/ops_cuda/decode/decode_internal.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"
#include "model/ops_cuda/weights.h"

enum { WARPS = 8, BLOCK = WARPS * TIDE_WARP };

template <typename W, typename X> struct shape {
    tide_view<X> out, x;                 /* (n_rows, m), (n_rows / n_shares, k) */
    tide_weights<W> weight;              /* (n_matrices, m, k) */
    const __nv_bfloat16 *scale;          /* (n_matrices, m); NULL: 1 */
    const int32_t *chosen;               /* (n_rows); NULL: matrix 0 */
    size_t n_rows, n_shares, n_matrices; /* as in tide_decode_product */
    size_t m, k;                         /* of a matrix */
    size_t n_whole;                      /* TIDE_PRODUCTS of a row that are read as packs */
    bool accumulate;                     /* out += */
};

/* The first row of out from `row` on that uses this matrix; n_rows: none. All lanes must call. */
template <typename W, typename X>
static __device__ __forceinline__ size_t next_row(const shape<W, X> &given, size_t matrix,
                                                  size_t row) {
    if (given.chosen == nullptr) {
        return row < given.n_rows ? row : given.n_rows;
    }
    for (; row < given.n_rows; row += TIDE_WARP) {
        const size_t mine = row + tide_lane();
        const bool is_its =
            mine < given.n_rows && static_cast<size_t>(given.chosen[mine]) == matrix;
        const unsigned found = __ballot_sync(TIDE_ALL_LANES, is_its);
        if (found != 0) {
            return row + static_cast<size_t>(__ffs(static_cast<int>(found))) - 1;
        }
    }
    return given.n_rows;
}

/* Turns of a loop that are unrolled into one: packs of x in fp32, or of many rows, fill the
 * registers sooner. */
template <typename X, size_t ROWS>
constexpr int TURNS = ROWS > 1 || std::is_same<X, float>::value ? 1 : 4;

/* sums += the row of weights that begins at `begin`, times the rows of x that begin at `of_x`; a
 * lane's share of it. */
template <typename W, typename X, size_t ROWS>
static __device__ __forceinline__ void multiply(const shape<W, X> &given, size_t begin,
                                                const size_t (&of_x)[ROWS], float (&sums)[ROWS]) {
    constexpr size_t N = TIDE_PRODUCTS<W, X>;
    constexpr size_t PACK = tide_weights<W>::PACK;
#pragma unroll(TURNS <X, ROWS>)
    for (size_t i = tide_lane(); i < given.n_whole; i += TIDE_WARP) {
        float w[N];
#pragma unroll
        for (size_t j = 0; j < N; j += PACK) {
            float pack[PACK];
            given.weight.load(pack, begin + i * N + j);
#pragma unroll
            for (size_t l = 0; l < PACK; l++) {
                w[j + l] = pack[l];
            }
        }
#pragma unroll
        for (size_t r = 0; r < ROWS; r++) {
            float number[N];
            tide_load(number, given.x, of_x[r] + i * N);
#pragma unroll
            for (size_t l = 0; l < N; l++) {
                sums[r] += w[l] * number[l];
            }
        }
    }
#pragma unroll 1
    for (size_t i = given.n_whole * N + tide_lane(); i < given.k; i += TIDE_WARP) {
        const float w = given.weight.one(begin + i);
#pragma unroll
        for (size_t r = 0; r < ROWS; r++) {
            sums[r] += w * tide_read(given.x.data + of_x[r] + i);
        }
    }
}

template <typename W, typename X>
static __device__ __forceinline__ void store(const shape<W, X> &given, size_t at, float sum) {
    const float number[1] = {given.accumulate ? tide_read(given.out.data + at) + sum : sum};
    tide_store(given.out, at, number);
}

/* Warp w of the grid takes rows w, w + warps of the grid, ... of all matrices. */
template <typename W, typename X, size_t ROWS>
static __global__ void __launch_bounds__(BLOCK) tide_decode_product_kernel(shape<W, X> given) {
    const size_t n_warps = static_cast<size_t>(gridDim.x) * WARPS;
    size_t w = static_cast<size_t>(blockIdx.x) * WARPS + threadIdx.x / TIDE_WARP;
    for (; w < given.n_matrices * given.m; w += n_warps) {
        const size_t matrix = w / given.m;
        size_t next = next_row(given, matrix, 0);
        while (next < given.n_rows) {
            size_t rows[ROWS], of_x[ROWS];
            float sums[ROWS];
#pragma unroll
            for (size_t r = 0; r < ROWS; r++) {
                rows[r] = next;
                /* If no rows remain, the first one is multiplied once more. */
                of_x[r] = (next < given.n_rows ? next : rows[0]) / given.n_shares * given.k;
                sums[r] = 0;
                next = next < given.n_rows ? next_row(given, matrix, next + 1) : next;
            }
            multiply<W, X, ROWS>(given, w * given.k, of_x, sums);
            const float scale = given.scale != nullptr ? tide_read(given.scale + w) : 1.0F;
#pragma unroll
            for (size_t r = 0; r < ROWS; r++) {
                const float sum = tide_warp_sum(sums[r]) * scale;
                if (rows[r] < given.n_rows && tide_lane() == 0) {
                    store(given, rows[r] * given.m + w % given.m, sum);
                }
            }
        }
    }
}

template <typename W, typename X, size_t ROWS>
static int launch(const tide_ops *ops, const tide_decode_product *call) {
    constexpr size_t N = TIDE_PRODUCTS<W, X>;
    const bool is_whole =
        call->k % N == 0 && tide_is_aligned(call->weight.data) && tide_is_aligned(call->x.data);
    const shape<W, X> given = {tide_view_of<X>(call->out),
                               tide_view_of<X>(call->x),
                               {static_cast<const W *>(call->weight.data)},
                               reinterpret_cast<const __nv_bfloat16 *>(call->scale),
                               call->chosen,
                               call->n_rows,
                               call->n_shares,
                               call->n_matrices,
                               call->m,
                               call->k,
                               is_whole ? call->k / N : 0,
                               call->accumulate};
    return TIDE_LAUNCH((tide_decode_product_kernel<W, X, ROWS>),
                       tide_cuda_grid(ops, call->n_matrices * call->m, WARPS), BLOCK, 0,
                       tide_cuda_stream(ops), given);
}

/* Chooses ROWS by the most rows of x that can choose one matrix. */
template <typename W, typename X>
static int launch_for_rows(const tide_ops *ops, const tide_decode_product *call) {
    const size_t n = call->chosen != nullptr ? call->n_rows / call->n_shares : call->n_rows;
    return n <= 1   ? launch<W, X, 1>(ops, call)
           : n <= 4 ? launch<W, X, 4>(ops, call)
                    : launch<W, X, 8>(ops, call);
}

extern "C" tide_status tide_cuda_decode_product(tide_ops *ops, const tide_decode_product *call,
                                                tide_error *error) {
    const tide_array arrays[] = {call->out, call->x, call->weight};
    const bool is_int8 = call->weight.dtype == TIDE_INT8;
    TIDE_TRY(tide_cuda_need_one_type("product", arrays, is_int8 ? 2 : 3, error));
    if (call->n_rows * call->m == 0) {
        return TIDE_OK;
    }
    if (tide_cuda_decode_fits_tiles(call)) {
        return tide_cuda_launched(ops, "decode_tiles", tide_cuda_decode_tiles(ops, call), error);
    }
    const bool is_bf16 = call->x.dtype == TIDE_BF16;
    const int result = is_int8 ? (is_bf16 ? launch_for_rows<int8_t, __nv_bfloat16>(ops, call)
                                          : launch_for_rows<int8_t, float>(ops, call))
                               : (is_bf16 ? launch_for_rows<__nv_bfloat16, __nv_bfloat16>(ops, call)
                                          : launch_for_rows<float, float>(ops, call));
    return tide_cuda_launched(ops, "decode_product", result, error);
}
