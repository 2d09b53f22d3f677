/* attention_mma_tiles.h - tiles of causal attention in shared memory as bf16, and their products on
 * tensor cores, for attention_mma_forward.cu and attention_mma_backward.cu. Unlike in
 * attention_flash.cu
 *
 *   - P and dS are rounded to bf16 before they are multiplied; sums stay fp32.
 *   - exponentials are powers of two: exp(x) = 2^(x log2 e), with log2 e in the scale of scores.
 *
 * A block of four warps works on one tile of 64 tokens of one head, its own, and goes over tiles of
 * OTHER other tokens; the next tile is copied while the present one is computed. Warp w has the own
 * tokens 16 w .. 16 w + 15. What it computes lies as tide_mma leaves it (mma.h): with g = lane / 4
 * and t = lane % 4, of scores (16, OTHER) and sums (16, DIM) a lane has
 *
 *   x[j][0], x[j][1] = row g, columns 8 j + 2 t and the next;  x[j][2], x[j][3] = row g + 8
 *
 * DIM is the head's D, rounded up to a size that kernels are compiled for; channels from D on are
 * zero in shared memory. */
#ifndef TIDE_MODEL_OPS_CUDA_ATTENTION_MMA_TILES_H
#define TIDE_MODEL_OPS_CUDA_ATTENTION_MMA_TILES_H

#include "model/ops_cuda/attention_shape.h"
#include "model/ops_cuda/mma.h"
#include "model/ops_cuda/storage.h"

static constexpr unsigned MMA_THREADS = 128;
static constexpr unsigned MMA_ROWS = 64;      /* own tokens of a block */
static constexpr unsigned MMA_WARP_ROWS = 16; /* of a warp */
/* At 128 channels, with 64 other tokens, two blocks of the backward pass fill the shared memory of
 * a multiprocessor (8.0: one), and every register; with 32 its 70 KiB leave room for more. */
template <unsigned DIM> static constexpr unsigned MMA_OTHER = DIM > 80 ? 32 : 64;
/* Elements from row to row: the eight rows of a matrix that is loaded are in different banks,
 * because (DIM + 8) / 8 is odd for every DIM that is a multiple of 16. */
template <unsigned DIM> static constexpr unsigned MMA_STRIDE = DIM + 8;

/* Bytes of shared memory: n_own tiles of own tokens and two of others, twice; in the backward pass
 * lse and delta of other tokens, twice. */
template <unsigned DIM> static constexpr size_t mma_shared_bytes(unsigned n_own, bool is_backward) {
    constexpr size_t ROW_BYTES = MMA_STRIDE<DIM> * sizeof(__nv_bfloat16);
    constexpr size_t N_OTHERS = 4 * MMA_OTHER<DIM>;
    return (n_own * MMA_ROWS + N_OTHERS) * ROW_BYTES + (is_backward ? N_OTHERS * sizeof(float) : 0);
}

static constexpr float MMA_LOG2_E = 1.44269504F;

static __device__ __forceinline__ unsigned mma_lane(void) {
    return threadIdx.x % 32;
}

/* The first of the warp's rows of an own tile. */
static __device__ __forceinline__ unsigned mma_warp_row(void) {
    return threadIdx.x / 32 * MMA_WARP_ROWS;
}

/* Begins to copy tokens t0 .. t0 + ROWS of the place's head of x; zeros beyond T and D. */
template <unsigned ROWS, unsigned DIM>
static __device__ __forceinline__ void
mma_begin_tile(__nv_bfloat16 *tile, const __nv_bfloat16 *x, const tide_attention_shape &shape,
               const tide_attention_place &place, size_t t0) {
    constexpr unsigned N_PACKS = DIM / 8; /* of a row */
    static_assert(ROWS * N_PACKS % MMA_THREADS == 0, "every thread copies as much");
#pragma unroll
    for (unsigned i = 0; i < ROWS * N_PACKS / MMA_THREADS; i++) {
        const unsigned pack = threadIdx.x + i * MMA_THREADS;
        const unsigned row = pack / N_PACKS;
        const unsigned c = pack % N_PACKS * 8;
        const bool exists = t0 + row < shape.T && c < shape.D;
        const size_t from = exists ? place.at + (t0 + row) * shape.C + c : 0;
        tide_copy_begin(tile + row * MMA_STRIDE<DIM> + c, x + from, exists ? 16 : 0);
    }
}

/* x = 0. */
template <unsigned N> static __device__ __forceinline__ void mma_clear(float (&x)[N][4]) {
#pragma unroll
    for (unsigned i = 0; i < N * 4; i++) {
        x[i / 4][i % 4] = 0;
    }
}

/* scores[r][s] = sum_c own[r][c] other[s][c], r the warp's rows. */
template <unsigned DIM, unsigned N>
static __device__ __forceinline__ void mma_dots(const __nv_bfloat16 *own,
                                                const __nv_bfloat16 *other, float (&scores)[N][4]) {
    const unsigned lane = mma_lane();
    own += (mma_warp_row() + lane % 16) * MMA_STRIDE<DIM> + lane / 16 * 8;
    other += (lane / 16 * 8 + lane % 8) * MMA_STRIDE<DIM> + lane / 8 % 2 * 8;
    mma_clear(scores);
#pragma unroll
    for (unsigned c = 0; c < DIM; c += 16) {
        unsigned a[4];
        tide_load_matrices(a, own + c);
#pragma unroll
        for (unsigned j = 0; j < N; j += 2) {
            unsigned two[4];
            tide_load_matrices(two, other + j * 8 * MMA_STRIDE<DIM> + c);
            tide_mma(scores[j], a, {two[0], two[1]});
            tide_mma(scores[j + 1], a, {two[2], two[3]});
        }
    }
}

/* sums[r][c] += sum_s scores[r][s] other[s][c], the scores rounded to bf16. */
template <unsigned DIM, unsigned N>
static __device__ __forceinline__ void
mma_add(const float (&scores)[N][4], const __nv_bfloat16 *other, float (&sums)[DIM / 8][4]) {
    const unsigned lane = mma_lane();
    other += lane % 16 * MMA_STRIDE<DIM> + lane / 16 * 8;
#pragma unroll
    for (unsigned j = 0; j < N; j += 2) { /* tokens 8 j .. 8 j + 15 */
        const unsigned a[4] = {tide_two_bf16(scores[j][0], scores[j][1]),
                               tide_two_bf16(scores[j][2], scores[j][3]),
                               tide_two_bf16(scores[j + 1][0], scores[j + 1][1]),
                               tide_two_bf16(scores[j + 1][2], scores[j + 1][3])};
#pragma unroll
        for (unsigned i = 0; i < DIM / 8; i += 2) { /* channels 8 i .. 8 i + 15 */
            unsigned two[4];
            tide_load_matrices_transposed(two, other + j * 8 * MMA_STRIDE<DIM> + i * 8);
            tide_mma(sums[i], a, {two[0], two[1]});
            tide_mma(sums[i + 1], a, {two[2], two[3]});
        }
    }
}

/* x[own + r][c] = sums[r][c] * factors[0] for rows g, factors[1] for rows g + 8, through the warp's
 * rows of a tile in shared memory that no other warp reads, so that the stores to global memory are
 * whole packs. */
template <unsigned DIM>
static __device__ __forceinline__ void
mma_store(__nv_bfloat16 *x, const tide_attention_shape &shape, const tide_attention_place &place,
          const float (&sums)[DIM / 8][4], const float (&factors)[2], __nv_bfloat16 *tile) {
    const unsigned lane = mma_lane();
    const unsigned first = mma_warp_row();
    tile += first * MMA_STRIDE<DIM>;
    __syncwarp(); /* the warp's rows have been read */
    __nv_bfloat16 *mine = tile + lane / 4 * MMA_STRIDE<DIM> + lane % 4 * 2;
#pragma unroll
    for (unsigned i = 0; i < DIM / 8; i++) {
        unsigned *upper = reinterpret_cast<unsigned *>(mine + i * 8);
        unsigned *lower = reinterpret_cast<unsigned *>(mine + 8 * MMA_STRIDE<DIM> + i * 8);
        *upper = tide_two_bf16(sums[i][0] * factors[0], sums[i][1] * factors[0]);
        *lower = tide_two_bf16(sums[i][2] * factors[1], sums[i][3] * factors[1]);
    }
    __syncwarp();
    for (unsigned pack = lane; pack < MMA_WARP_ROWS * (DIM / 8); pack += 32) {
        const unsigned row = pack / (DIM / 8);
        const unsigned c = pack % (DIM / 8) * 8;
        const size_t t = place.own + first + row;
        if (t < shape.T && c < shape.D) {
            tide_store16(x + place.at + t * shape.C + c,
                         tide_load16(tile + row * MMA_STRIDE<DIM> + c));
        }
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

/* For launchers: an array of bf16. */
static inline __nv_bfloat16 *mma_data(tide_array array) {
    return static_cast<__nv_bfloat16 *>(array.data);
}

#endif
