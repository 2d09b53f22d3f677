/* attention_mma_types.h - the parts of attention_mma_tiles.h that depend on the type of the
 * elements: bf16, or float with TF32 products.
 *
 * A tile of floats is copied to shared memory unchanged, and then each thread rounds, in place and
 * once, the packs that it copied: no barrier is needed in between. Rounding when fragments are
 * loaded would repeat the work in each of the four warps, three instructions a number.
 *
 * The columns of P and the rows of V, the tokens that a product sums over, may be in any order that
 * is the same for both. P has the layout of a sum, so with TF32 a lane has tokens 2 t and 2 t + 1
 * in place of t and t + 4 (mma.h), and reads those rows of V, the 32 lanes in different banks. */
#ifndef TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_MMA_TYPES_H
#define TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_MMA_TYPES_H

#include <type_traits>

#include "model/ops_cuda/attention/attention_mma_tiles.h"

/* Calls run(number, dim), by which launchers choose an instance: the number has the type of the
 * elements, and dim.value is the DIM for heads of D channels. */
template <typename Run> static inline int mma_by_instance(tide_dtype dtype, size_t D, Run run) {
    const auto by_dim = [=](auto number) {
        return D <= 64   ? run(number, std::integral_constant<unsigned, 64>())
               : D <= 80 ? run(number, std::integral_constant<unsigned, 80>())
                         : run(number, std::integral_constant<unsigned, 128>());
    };
    return dtype == TIDE_FP32 ? by_dim(float()) : by_dim(__nv_bfloat16());
}

/* Rounds to TF32 the part of a tile that this thread has copied and waited for; or of two
 * consecutive tiles if ROWS is that of both. */
template <unsigned ROWS, unsigned DIM>
static __device__ __forceinline__ void mma_round_tile(float *tile) {
#pragma unroll
    for (unsigned i = 0; i < MMA_N_PACKS<float, ROWS, DIM>; i++) {
        const mma_pack pack = mma_pack_of<float, DIM>(i);
        float *at = tile + pack.row * MMA_STRIDE<float, DIM> + pack.c;
        float x[4];
        tide_read_pack(at, x);
        tide_store16(at, make_uint4(tide_to_tf32(x[0]), tide_to_tf32(x[1]), tide_to_tf32(x[2]),
                                    tide_to_tf32(x[3])));
    }
}

/* bf16 needs no rounding. */
template <unsigned ROWS, unsigned DIM>
static __device__ __forceinline__ void mma_round_tile(__nv_bfloat16 *tile) {
    (void)tile;
}

/* d (16, 8) += a b, over the elements of two packs of either. */
template <typename T>
static __device__ __forceinline__ void mma_product(float (&d)[4], const unsigned (&a)[4],
                                                   const unsigned (&b)[2]) {
    if constexpr (sizeof(T) == 2) {
        tide_mma(d, a, b);
    } else {
        tide_mma_tf32(d, a, b);
    }
}

/* scores[r][s] = sum_c own[r][c] other[s][c], r the warp's rows. */
template <unsigned DIM, unsigned N, typename T>
static __device__ __forceinline__ void mma_dots(const T *own, const T *other,
                                                float (&scores)[N][4]) {
    constexpr unsigned STRIDE = MMA_STRIDE<T, DIM>;
    const unsigned lane = mma_lane();
    own += (mma_warp_row() + lane % 16) * STRIDE + lane / 16 * MMA_PACK<T>;
    other += (lane / 16 * 8 + lane % 8) * STRIDE + lane / 8 % 2 * MMA_PACK<T>;
    mma_clear(scores);
#pragma unroll
    for (unsigned c = 0; c < DIM; c += 2 * MMA_PACK<T>) {
        unsigned a[4];
        tide_load_matrices(a, own + c);
#pragma unroll
        for (unsigned j = 0; j < N; j += 2) {
            unsigned two[4];
            tide_load_matrices(two, other + j * 8 * STRIDE + c);
            mma_product<T>(scores[j], a, {two[0], two[1]});
            mma_product<T>(scores[j + 1], a, {two[2], two[3]});
        }
    }
}

/* sums[r][c] += sum_s scores[r][s] other[s][c], the scores rounded to bf16. */
template <unsigned DIM, unsigned N>
static __device__ __forceinline__ void
mma_add(const float (&scores)[N][4], const __nv_bfloat16 *other, float (&sums)[DIM / 8][4]) {
    const unsigned lane = mma_lane();
    other += lane % 16 * MMA_STRIDE<__nv_bfloat16, DIM> + lane / 16 * 8;
#pragma unroll
    for (unsigned j = 0; j < N; j += 2) { /* tokens 8 j .. 8 j + 15 */
        const unsigned a[4] = {tide_two_bf16(scores[j][0], scores[j][1]),
                               tide_two_bf16(scores[j][2], scores[j][3]),
                               tide_two_bf16(scores[j + 1][0], scores[j + 1][1]),
                               tide_two_bf16(scores[j + 1][2], scores[j + 1][3])};
#pragma unroll
        for (unsigned i = 0; i < DIM / 8; i += 2) { /* channels 8 i .. 8 i + 15 */
            unsigned two[4];
            tide_load_matrices_transposed(two,
                                          other + j * 8 * MMA_STRIDE<__nv_bfloat16, DIM> + i * 8);
            tide_mma(sums[i], a, {two[0], two[1]});
            tide_mma(sums[i + 1], a, {two[2], two[3]});
        }
    }
}

/* The same, the scores rounded to TF32. */
template <unsigned DIM, unsigned N>
static __device__ __forceinline__ void mma_add(const float (&scores)[N][4], const float *other,
                                               float (&sums)[DIM / 8][4]) {
    constexpr unsigned STRIDE = MMA_STRIDE<float, DIM>;
    const unsigned lane = mma_lane();
    other += lane % 4 * 2 * STRIDE + lane / 4;
#pragma unroll
    for (unsigned j = 0; j < N; j++) { /* tokens 8 j .. 8 j + 7 */
        const unsigned a[4] = {tide_to_tf32(scores[j][0]), tide_to_tf32(scores[j][2]),
                               tide_to_tf32(scores[j][1]), tide_to_tf32(scores[j][3])};
#pragma unroll
        for (unsigned i = 0; i < DIM / 8; i++) { /* channels 8 i .. 8 i + 7 */
            /* One access for two channels would be fewer loads, but their numbers would have to
             * be moved: the two operands of a product are neighbours among the registers. */
            const float *row = other + j * 8 * STRIDE + i * 8;
            tide_mma_tf32(sums[i], a, {__float_as_uint(row[0]), __float_as_uint(row[STRIDE])});
        }
    }
}

/* x[own + r][c] = sums[r][c] * factors[0] for rows g, factors[1] for rows g + 8, through the warp's
 * rows of a tile in shared memory that no other warp reads, so the stores to global memory are
 * whole packs. */
template <unsigned DIM>
static __device__ __forceinline__ void
mma_store(__nv_bfloat16 *x, const tide_attention_shape &shape, const tide_attention_place &place,
          const float (&sums)[DIM / 8][4], const float (&factors)[2], __nv_bfloat16 *tile) {
    const unsigned lane = mma_lane();
    const unsigned first = mma_warp_row();
    tile += first * MMA_STRIDE<__nv_bfloat16, DIM>;
    __syncwarp(); /* the warp's rows have been read */
    __nv_bfloat16 *mine = tile + lane / 4 * MMA_STRIDE<__nv_bfloat16, DIM> + lane % 4 * 2;
#pragma unroll
    for (unsigned i = 0; i < DIM / 8; i++) {
        unsigned *upper = reinterpret_cast<unsigned *>(mine + i * 8);
        unsigned *lower =
            reinterpret_cast<unsigned *>(mine + 8 * MMA_STRIDE<__nv_bfloat16, DIM> + i * 8);
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
                         tide_load16(tile + row * MMA_STRIDE<__nv_bfloat16, DIM> + c));
        }
    }
}

/* The same for fp32, where four lanes have the 32 bytes of a sector. */
template <unsigned DIM>
static __device__ __forceinline__ void
mma_store(float *x, const tide_attention_shape &shape, const tide_attention_place &place,
          const float (&sums)[DIM / 8][4], const float (&factors)[2], float *tile) {
    (void)tile;
#pragma unroll
    for (unsigned r = 0; r < 2; r++) {
        const size_t t = place.own + mma_warp_row() + mma_lane() / 4 + r * 8;
#pragma unroll
        for (unsigned i = 0; i < DIM / 8; i++) {
            const unsigned c = i * 8 + mma_lane() % 4 * 2;
            if (t < shape.T && c < shape.D) {
                *reinterpret_cast<float2 *>(x + place.at + t * shape.C + c) =
                    make_float2(sums[i][2 * r] * factors[r], sums[i][2 * r + 1] * factors[r]);
            }
        }
    }
}

#endif
