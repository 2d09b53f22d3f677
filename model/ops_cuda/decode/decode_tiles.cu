/* The product of decode_product.cu for many rows of bf16, as in prompts: tiles of TILE rows of x
 * and TILE rows of a matrix, multiplied by tensor cores and summed in fp32.
 *
 * A block has one tile of out. In steps of STEP columns its threads copy both operands into shared
 * memory, where int8 weights become bf16, which holds each of them exactly; the numbers of the next
 * step are loaded into registers meanwhile. Each of the four warps has a quarter of the tile. With
 * experts, a block takes the rows that chose its matrix, in their order. The order of a sum depends
 * only on k. */
#include "model/ops_cuda/decode/decode_internal.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/mma.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

/* PITCH: rows begin 80 bytes apart, so the eight rows of a matrix are in different banks. */
enum { TILE = 64, STEP = 32, PITCH = STEP + 8, WARPS = 4, BLOCK = WARPS * TIDE_WARP };
/* A quarter of the tile, as tensor cores need it. */
enum { QUARTER = TILE / 2, DOWN = QUARTER / 16, ACROSS = QUARTER / 8 };

template <typename W> struct shape {
    __nv_bfloat16 *out;                  /* (n_rows, m) */
    const __nv_bfloat16 *x;              /* (n_rows / n_shares, k) */
    const W *weight;                     /* (n_matrices, m, k) */
    const __nv_bfloat16 *scale;          /* (n_matrices, m); NULL: 1 */
    const int32_t *chosen;               /* (n_rows); NULL: matrix 0 */
    size_t n_rows, n_shares, n_matrices; /* as in tide_decode_product */
    size_t m, k;                         /* of a matrix; k a multiple of 16 */
    bool accumulate;                     /* out += */
};

/* A tile of out. */
typedef struct place {
    size_t matrix, column; /* of the weights; the first of its rows */
    size_t skipped;        /* rows that chose the matrix before those of the tile */
} place;

/* The part that a thread copies in a step: packs of 16 bytes of TILE rows of T. */
template <typename T> struct piece {
    static constexpr unsigned PER_ROW = STEP / TIDE_PACK<T>;
    static constexpr unsigned N = TILE * PER_ROW / BLOCK;
    uint4 bits[N];

    static __device__ __forceinline__ unsigned row(unsigned i) {
        return (threadIdx.x + i * BLOCK) / PER_ROW;
    }
    static __device__ __forceinline__ unsigned column(unsigned i) {
        return (threadIdx.x + i * BLOCK) % PER_ROW * TIDE_PACK<T>;
    }
};

static __device__ __forceinline__ void put(__nv_bfloat16 *to, uint4 bits, const __nv_bfloat16 *) {
    tide_store16(to, bits);
}

/* 16 weights. */
static __device__ __forceinline__ void put(__nv_bfloat16 *to, uint4 bits, const int8_t *) {
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float number[8];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            number[i] =
                static_cast<float>(static_cast<int8_t>(words[2 * half + i / 4] >> 8 * (i % 4)));
        }
        tide_write_pack(to + 8 * half, number);
    }
}

template <typename T>
static __device__ __forceinline__ void put_piece(__nv_bfloat16 (*tile)[PITCH],
                                                 const piece<T> &from) {
#pragma unroll
    for (unsigned i = 0; i < piece<T>::N; i++) {
        put(&tile[from.row(i)][from.column(i)], from.bits[i], static_cast<const T *>(nullptr));
    }
}

/* Columns at .. at + STEP of the TILE rows; zeros if there is no row or column. row_of(i) is the
 * row's first element, or null. */
template <typename T, typename Rows>
static __device__ __forceinline__ void load_piece(piece<T> &to, size_t at, size_t k,
                                                  const Rows &row_of) {
#pragma unroll
    for (unsigned i = 0; i < piece<T>::N; i++) {
        const T *row = row_of(to.row(i));
        const size_t column = at + to.column(i);
        to.bits[i] =
            row != nullptr && column < k ? tide_load16(row + column) : make_uint4(0, 0, 0, 0);
    }
}

/* The rows of out in the tile, n_rows if there is none. All threads must call. */
template <typename W>
static __device__ __forceinline__ void find_rows(const shape<W> &given, const place &at,
                                                 size_t *rows) {
    if (given.chosen == nullptr) {
        for (unsigned i = threadIdx.x; i < TILE; i += BLOCK) {
            rows[i] = at.skipped + i < given.n_rows ? at.skipped + i : given.n_rows;
        }
        return;
    }
    if (threadIdx.x >= TIDE_WARP) {
        return;
    }
    size_t n = 0; /* that chose the matrix */
    for (size_t row = 0; row < given.n_rows && n < at.skipped + TILE; row += TIDE_WARP) {
        const size_t mine = row + tide_lane();
        const bool is_its =
            mine < given.n_rows && static_cast<size_t>(given.chosen[mine]) == at.matrix;
        const unsigned found = __ballot_sync(TIDE_ALL_LANES, is_its);
        const size_t number = n + static_cast<size_t>(__popc(found & ((1U << tide_lane()) - 1)));
        if (is_its && number >= at.skipped && number < at.skipped + TILE) {
            rows[number - at.skipped] = mine;
        }
        n += static_cast<size_t>(__popc(found));
    }
    for (size_t i = tide_lane(); i < TILE; i += TIDE_WARP) {
        if (at.skipped + i >= n) {
            rows[i] = given.n_rows;
        }
    }
}

/* The warp's quarter of a step. */
static __device__ __forceinline__ void multiply(const __nv_bfloat16 (*x)[PITCH],
                                                const __nv_bfloat16 (*w)[PITCH],
                                                float (&sums)[DOWN][ACROSS][4]) {
    const unsigned warp = threadIdx.x / TIDE_WARP;
    const unsigned lane = tide_lane();
    const unsigned x_row = warp / 2 * QUARTER + lane % 16;
    const unsigned w_row = warp % 2 * QUARTER + lane / 16 * 8 + lane % 8;
#pragma unroll
    for (unsigned at = 0; at < STEP; at += 16) {
        unsigned a[DOWN][4];
#pragma unroll
        for (unsigned i = 0; i < DOWN; i++) {
            tide_load_matrices(a[i], &x[x_row + 16 * i][at + lane / 16 * 8]);
        }
#pragma unroll
        for (unsigned j = 0; j < ACROSS; j += 2) {
            unsigned both[4];
            tide_load_matrices(both, &w[w_row + 8 * j][at + lane / 8 % 2 * 8]);
            const unsigned first[2] = {both[0], both[1]};
            const unsigned second[2] = {both[2], both[3]};
#pragma unroll
            for (unsigned i = 0; i < DOWN; i++) {
                tide_mma(sums[i][j], a[i], first);
                tide_mma(sums[i][j + 1], a[i], second);
            }
        }
    }
}

/* Element e of a lane's four. */
template <typename W>
static __device__ __forceinline__ void store(const shape<W> &given, const place &at,
                                             const size_t *rows,
                                             const float (&sums)[DOWN][ACROSS][4]) {
    const unsigned warp = threadIdx.x / TIDE_WARP;
#pragma unroll
    for (unsigned j = 0; j < ACROSS; j++) {
#pragma unroll
        for (unsigned e = 0; e < 4; e++) {
            const size_t column =
                at.column + warp % 2 * QUARTER + 8 * j + 2 * (tide_lane() % 4) + e % 2;
            if (column >= given.m) {
                continue;
            }
            const float scale = given.scale != nullptr
                                    ? tide_read(given.scale + at.matrix * given.m + column)
                                    : 1.0F;
#pragma unroll
            for (unsigned i = 0; i < DOWN; i++) {
                const size_t row = rows[warp / 2 * QUARTER + 16 * i + tide_lane() / 4 + e / 2 * 8];
                if (row < given.n_rows) {
                    __nv_bfloat16 *out = given.out + row * given.m + column;
                    const float sum = sums[i][j][e] * scale;
                    tide_write(out, given.accumulate ? tide_read(out) + sum : sum);
                }
            }
        }
    }
}

template <typename W>
static __device__ __forceinline__ void run_tile(const shape<W> &given, const place &at,
                                                size_t *rows) {
    TIDE_SHARED(__nv_bfloat16, x_tile, [TILE][PITCH]);
    TIDE_SHARED(__nv_bfloat16, w_tile, [TILE][PITCH]);
    float sums[DOWN][ACROSS][4] = {};
    piece<__nv_bfloat16> x = {};
    piece<W> w = {}; /* gcc does not see that each is loaded */
    const auto x_row = [&](unsigned i) {
        return rows[i] < given.n_rows ? given.x + rows[i] / given.n_shares * given.k : nullptr;
    };
    const auto w_row = [&](unsigned i) {
        return at.column + i < given.m
                   ? given.weight + (at.matrix * given.m + at.column + i) * given.k
                   : nullptr;
    };
    load_piece(x, 0, given.k, x_row);
    load_piece(w, 0, given.k, w_row);
    for (size_t step = 0; step < given.k; step += STEP) {
        __syncthreads(); /* all warps have multiplied the previous step */
        put_piece(x_tile, x);
        put_piece(w_tile, w);
        __syncthreads(); /* all threads have copied */
        load_piece(x, step + STEP, given.k, x_row);
        load_piece(w, step + STEP, given.k, w_row);
        multiply(x_tile, w_tile, sums);
    }
    store(given, at, rows, sums);
}

/* Tiles of the same weights follow one another, so the weights come from the L2 cache. */
template <typename W>
static __global__ void __launch_bounds__(BLOCK)
    tide_decode_tiles_kernel(shape<W> given, size_t n_down, size_t n_across) {
    TIDE_SHARED(size_t, rows, [TILE]);
    for (size_t i = blockIdx.x; i < given.n_matrices * n_across * n_down; i += gridDim.x) {
        const place at = {i / n_down / n_across, i / n_down % n_across * TILE, i % n_down * TILE};
        __syncthreads(); /* all threads have stored the previous tile */
        find_rows(given, at, rows);
        __syncthreads(); /* the rows are known */
        if (rows[0] < given.n_rows) {
            run_tile(given, at, rows);
        }
    }
}

template <typename W> static int launch(const tide_ops *ops, const tide_decode_product *call) {
    const shape<W> given = {static_cast<__nv_bfloat16 *>(call->out.data),
                            static_cast<const __nv_bfloat16 *>(call->x.data),
                            static_cast<const W *>(call->weight.data),
                            reinterpret_cast<const __nv_bfloat16 *>(call->scale),
                            call->chosen,
                            call->n_rows,
                            call->n_shares,
                            call->n_matrices,
                            call->m,
                            call->k,
                            call->accumulate};
    const size_t n_down = (call->n_rows + TILE - 1) / TILE;
    const size_t n_across = (call->m + TILE - 1) / TILE;
    return TIDE_LAUNCH(tide_decode_tiles_kernel<W>,
                       tide_cuda_grid(ops, call->n_matrices * n_across * n_down, 1), BLOCK, 0,
                       tide_cuda_stream(ops), given, n_down, n_across);
}

extern "C" bool tide_cuda_decode_fits_tiles(const tide_decode_product *call) {
    const size_t n_rows = call->chosen != nullptr ? call->n_rows / call->n_shares : call->n_rows;
    return call->x.dtype == TIDE_BF16 && n_rows > 8 && call->k % 16 == 0 &&
           tide_is_aligned(call->x.data) && tide_is_aligned(call->weight.data);
}

extern "C" int tide_cuda_decode_tiles(const tide_ops *ops, const tide_decode_product *call) {
    return call->weight.dtype == TIDE_INT8 ? launch<int8_t>(ops, call)
                                           : launch<__nv_bfloat16>(ops, call);
}
