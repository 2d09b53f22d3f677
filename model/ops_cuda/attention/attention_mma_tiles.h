/* attention_mma_tiles.h - tiles of causal attention in shared memory, and their products on tensor
 * cores, for attention_mma_forward.cu and attention_mma_backward.cu. Elements are bf16, or fp32
 * with TF32 products: the parts that depend on the type T are in attention_mma_types.h. Unlike in
 * attention_flash.cu
 *
 *   - all operands of products are bf16 or TF32 numbers: P and dS are rounded before they are
 *     multiplied, and so are fp32 elements. Sums stay fp32.
 *   - exponentials are powers of two: exp(x) = 2^(x log2 e), with log2 e in the scale of scores.
 *
 * A block of four warps works on one tile of 64 tokens of one head, its own, and iterates over
 * tiles of OTHER other tokens; the next tile is copied while the current one is computed. Warp w
 * has the own tokens 16 w .. 16 w + 15. Its results have the layout of tide_mma (mma.h): with g =
 * lane / 4 and t = lane % 4, of scores (16, OTHER) and sums (16, DIM) a lane has
 *
 *   x[j][0], x[j][1] = row g, columns 8 j + 2 t and the next;  x[j][2], x[j][3] = row g + 8
 *
 * DIM is the head's D, rounded up to a size for which kernels are compiled; channels from D on are
 * zero in shared memory. */
#ifndef TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_MMA_TILES_H
#define TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_MMA_TILES_H

#include "model/ops_cuda/attention/attention_shape.h"
#include "model/ops_cuda/mma.h"
#include "model/ops_cuda/storage.h"

static constexpr unsigned MMA_THREADS = 128;
static constexpr unsigned MMA_ROWS = 64;      /* own tokens of a block */
static constexpr unsigned MMA_WARP_ROWS = 16; /* of a warp */
/* Other tokens of a tile. At 128 channels, with 64 in bf16, two blocks of the backward pass fill
 * the shared memory of a multiprocessor (8.0: one), and every register; with 32 its 68 KiB leave
 * room for more. Tiles of fp32 have as many bytes as those of bf16, and so half the tokens. */
template <typename T, unsigned DIM>
static constexpr unsigned MMA_OTHER = (DIM > 80 ? 64 : 128) / sizeof(T);
/* Elements in 16 bytes, one access. */
template <typename T> static constexpr unsigned MMA_PACK = 16 / sizeof(T);
/* Elements from row to row: the eight rows of a matrix that is loaded are in different banks,
 * because rows are an odd number of packs apart for every DIM that is a multiple of 16. In the
 * backward pass the last pack of every other row of queries has their lse and delta. */
template <typename T, unsigned DIM> static constexpr unsigned MMA_STRIDE = DIM + MMA_PACK<T>;

/* Bytes of shared memory: n_own tiles of own tokens and two of others, twice. */
template <typename T, unsigned DIM> static constexpr size_t mma_shared_bytes(unsigned n_own) {
    return size_t{n_own * MMA_ROWS + 4 * MMA_OTHER<T, DIM>} * MMA_STRIDE<T, DIM> * sizeof(T);
}

static constexpr float MMA_LOG2_E = 1.44269504F;

static __device__ __forceinline__ unsigned mma_lane(void) {
    return threadIdx.x % 32;
}

/* The first of the warp's rows of an own tile. */
static __device__ __forceinline__ unsigned mma_warp_row(void) {
    return threadIdx.x / 32 * MMA_WARP_ROWS;
}

/* The place in a tile of the i-th of the packs that this thread copies. */
struct mma_pack {
    unsigned row, c; /* c: its first channel */
};

template <typename T, unsigned DIM>
static __device__ __forceinline__ mma_pack mma_pack_of(unsigned i) {
    constexpr unsigned N_PACKS = DIM / MMA_PACK<T>; /* of a row */
    const unsigned pack = threadIdx.x + i * MMA_THREADS;
    return {pack / N_PACKS, pack % N_PACKS * MMA_PACK<T>};
}

/* Packs of a tile that each thread copies. */
template <typename T, unsigned ROWS, unsigned DIM>
static constexpr unsigned MMA_N_PACKS = (ROWS * DIM) / (MMA_PACK<T> * MMA_THREADS);

/* Begins to copy tokens t0 .. t0 + ROWS of the place's head of x; zeros beyond T and D. */
template <unsigned ROWS, unsigned DIM, typename T>
static __device__ __forceinline__ void
mma_begin_tile(T *tile, const T *x, const tide_attention_shape &shape,
               const tide_attention_place &place, size_t t0) {
    static_assert(ROWS * DIM % (MMA_PACK<T> * MMA_THREADS) == 0, "every thread copies as much");
#pragma unroll
    for (unsigned i = 0; i < MMA_N_PACKS<T, ROWS, DIM>; i++) {
        const mma_pack pack = mma_pack_of<T, DIM>(i);
        const bool exists = t0 + pack.row < shape.T && pack.c < shape.D;
        const size_t from = exists ? place.at + (t0 + pack.row) * shape.C + pack.c : 0;
        tide_copy_begin(tile + pack.row * MMA_STRIDE<T, DIM> + pack.c, x + from, exists ? 16 : 0);
    }
}

/* x = 0. */
template <unsigned N> static __device__ __forceinline__ void mma_clear(float (&x)[N][4]) {
#pragma unroll
    for (unsigned i = 0; i < N * 4; i++) {
        x[i / 4][i % 4] = 0;
    }
}

/* A lane's part of scores: the tokens of element [0][0]. */
struct mma_tokens {
    size_t own, other;
};

static __device__ __forceinline__ mma_tokens mma_tokens_of(size_t own_tile, size_t other_tile) {
    return {own_tile + mma_warp_row() + mma_lane() / 4, other_tile + mma_lane() % 4 * 2};
}

/* Scores that the mask hides become `hidden`. KEYS: own tokens are keys, else queries. */
template <bool KEYS, unsigned N>
static __device__ __forceinline__ void mma_hide(const mma_tokens &at, float hidden,
                                                float (&x)[N][4]) {
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const size_t own = at.own + i / 2 * 8;
            const size_t other = at.other + j * 8 + i % 2;
            if (KEYS ? own > other : other > own) {
                x[j][i] = hidden;
            }
        }
    }
}

/* Over the four lanes that share a row. */
static __device__ __forceinline__ float mma_row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 2));
}

static __device__ __forceinline__ float mma_row_sum(float x) {
    x += __shfl_xor_sync(0xFFFFFFFFU, x, 1);
    return x + __shfl_xor_sync(0xFFFFFFFFU, x, 2);
}

/* For launchers: an array of T. */
template <typename T> static inline T *mma_data(tide_array array) {
    return static_cast<T *>(array.data);
}

#endif
