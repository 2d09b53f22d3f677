/* attention_tiles.h - tiles of causal attention in shared memory as fp32, and their products, for
 * attention_flash.cu.
 *
 * A block of ATTENTION_THREADS threads works on one tile of ROWS tokens of one head, its own, and
 * iterates over tiles of ATTENTION_OTHER other tokens. Threads form 8 groups of 16, each half a
 * warp: group g has the rows g, g + 8, g + 16 ... of the arrays of own tokens, and its thread l of
 *
 *   scores (ROWS, OTHER)  the columns l, l + 16 ...
 *   sums (ROWS, D)        the channels tide_attention_channel<DIM>(l, 0 ..)
 *
 * so only one half of a warp reads and writes a row of scores, and __syncwarp is enough between the
 * two. DIM is the head's D, rounded up to a size that kernels are compiled for; channels from D on
 * are zero in shared memory. */
#ifndef TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_TILES_H
#define TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_TILES_H

#include "model/ops_cuda/attention/attention_shape.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/storage.h"

static constexpr unsigned ATTENTION_THREADS = 128;
static constexpr unsigned ATTENTION_GROUPS = 8; /* rows that are worked on at the same time */
static constexpr unsigned ATTENTION_LANES = 16; /* threads of a row */
static constexpr unsigned ATTENTION_OTHER = 32;
/* Four neighbours of a row are one access, and the rows that 8 threads read at a time are in
 * different banks: (DIM + 4) / 4 is odd for every DIM that is a multiple of 8. */
template <unsigned DIM> static constexpr unsigned ATTENTION_STRIDE = DIM + 4;
/* Rows of scores: the two that a warp writes at a time are 16 banks apart. */
static constexpr unsigned ATTENTION_SCORES_STRIDE = ATTENTION_OTHER + 16;

static __device__ __forceinline__ unsigned tide_attention_group(void) {
    return threadIdx.x / ATTENTION_LANES;
}

static __device__ __forceinline__ unsigned tide_attention_lane(void) {
    return threadIdx.x % ATTENTION_LANES;
}

/* The i-th channel of a lane: groups of four while every lane can have one, then single channels.
 */
template <unsigned DIM>
static __device__ __forceinline__ unsigned tide_attention_channel(unsigned lane, unsigned i) {
    constexpr unsigned N_FOURS = DIM / (4 * ATTENTION_LANES);
    return i < 4 * N_FOURS ? i / 4 * 4 * ATTENTION_LANES + 4 * lane + i % 4
                           : i * ATTENTION_LANES + lane;
}

template <typename T> struct alignas(4 * sizeof(T)) tide_four { T x[4]; };

/* Four channels from `from` on: n of them are loaded, the rest are 0. */
template <typename T>
static __device__ __forceinline__ float4 tide_attention_read(const T *from, size_t n,
                                                             bool in_fours) {
    float x[4] = {0, 0, 0, 0};
    if (in_fours) {
        const tide_four<T> four = *reinterpret_cast<const tide_four<T> *>(from);
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            x[i] = tide_read(&four.x[i]);
        }
    } else {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (i < n) {
                x[i] = tide_read(from + i);
            }
        }
    }
    return make_float4(x[0], x[1], x[2], x[3]);
}

/* tile (ROWS, DIM) = tokens t0 .. t0 + ROWS of the place's head of x; zero beyond T and D. */
template <unsigned ROWS, unsigned DIM, typename T>
static __device__ __forceinline__ void
tide_attention_load(float *tile, const T *x, const tide_attention_shape &shape,
                    const tide_attention_place &place, size_t t0) {
    for (unsigned i = threadIdx.x; i < ROWS * (DIM / 4); i += ATTENTION_THREADS) {
        const unsigned row = i / (DIM / 4);
        const unsigned c = i % (DIM / 4) * 4;
        float4 four = make_float4(0, 0, 0, 0);
        if (t0 + row < shape.T && c < shape.D) {
            four = tide_attention_read(x + place.at + (t0 + row) * shape.C + c, shape.D - c,
                                       shape.in_fours);
        }
        *reinterpret_cast<float4 *>(tile + row * ATTENTION_STRIDE<DIM> + c) = four;
    }
}

/* The thread's part of scores[r][s] = sum_c own[r][c] other[s][c]. */
template <unsigned DIM, unsigned M, unsigned N>
static __device__ __forceinline__ void tide_attention_dots(const float *own, const float *other,
                                                           float (&scores)[M][N]) {
    own += tide_attention_group() * ATTENTION_STRIDE<DIM>;
    other += tide_attention_lane() * ATTENTION_STRIDE<DIM>;
#pragma unroll
    for (unsigned i = 0; i < M * N; i++) {
        scores[i / N][i % N] = 0;
    }
#pragma unroll 2
    for (unsigned c = 0; c < DIM; c += 4) {
        float4 y[N];
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            y[j] = *reinterpret_cast<const float4 *>(
                other + j * ATTENTION_LANES * ATTENTION_STRIDE<DIM> + c);
        }
#pragma unroll
        for (unsigned i = 0; i < M; i++) {
            const float4 x = *reinterpret_cast<const float4 *>(
                own + i * ATTENTION_GROUPS * ATTENTION_STRIDE<DIM> + c);
#pragma unroll
            for (unsigned j = 0; j < N; j++) {
                scores[i][j] += x.x * y[j].x;
                scores[i][j] += x.y * y[j].y;
                scores[i][j] += x.z * y[j].z;
                scores[i][j] += x.w * y[j].w;
            }
        }
    }
}

/* Writes the thread's part of scores to shared memory, for its half of the warp. */
template <unsigned M, unsigned N>
static __device__ __forceinline__ void tide_attention_share(float *shared,
                                                            const float (&scores)[M][N]) {
    __syncwarp(); /* all lanes have read the old content */
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
        const unsigned row = tide_attention_group() + i * ATTENTION_GROUPS;
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            shared[row * ATTENTION_SCORES_STRIDE + tide_attention_lane() + j * ATTENTION_LANES] =
                scores[i][j];
        }
    }
    __syncwarp();
}

/* The lane's channels of a row of a tile. */
template <unsigned DIM>
static __device__ __forceinline__ void tide_attention_row(const float *row,
                                                          float (&x)[DIM / ATTENTION_LANES]) {
#pragma unroll
    for (unsigned i = 0; i < DIM / ATTENTION_LANES; i++) {
        const unsigned c = tide_attention_channel<DIM>(tide_attention_lane(), i);
        if (i + 4 <= DIM / ATTENTION_LANES && i % 4 == 0) {
            const float4 four = *reinterpret_cast<const float4 *>(row + c);
            x[i] = four.x;
            x[i + 1] = four.y;
            x[i + 2] = four.z;
            x[i + 3] = four.w;
        } else if (i / 4 * 4 + 4 > DIM / ATTENTION_LANES) {
            x[i] = row[c];
        }
    }
}

/* The thread's part of sums[r][c] += sum_s scores[r][s] other[s][c], with scores from shared
 * memory. */
template <unsigned DIM, unsigned M>
static __device__ __forceinline__ void tide_attention_add(const float *scores, const float *other,
                                                          float (&sums)[M][DIM / ATTENTION_LANES]) {
    scores += tide_attention_group() * ATTENTION_SCORES_STRIDE;
#pragma unroll 1
    for (unsigned s = 0; s < ATTENTION_OTHER; s += 4) {
        float weights[M][4];
#pragma unroll
        for (unsigned i = 0; i < M; i++) {
            const float4 four = *reinterpret_cast<const float4 *>(
                scores + i * ATTENTION_GROUPS * ATTENTION_SCORES_STRIDE + s);
            weights[i][0] = four.x;
            weights[i][1] = four.y;
            weights[i][2] = four.z;
            weights[i][3] = four.w;
        }
#pragma unroll
        for (unsigned k = 0; k < 4; k++) {
            float x[DIM / ATTENTION_LANES];
            tide_attention_row<DIM>(other + (s + k) * ATTENTION_STRIDE<DIM>, x);
#pragma unroll
            for (unsigned i = 0; i < M; i++) {
#pragma unroll
                for (unsigned j = 0; j < DIM / ATTENTION_LANES; j++) {
                    sums[i][j] += weights[i][k] * x[j];
                }
            }
        }
    }
}

/* The lane's channels of a row of an array = x times the factor. */
template <unsigned DIM, typename T>
static __device__ __forceinline__ void
tide_attention_store_row(T *row, const tide_attention_shape &shape,
                         const float (&x)[DIM / ATTENTION_LANES], float factor) {
#pragma unroll
    for (unsigned i = 0; i < DIM / ATTENTION_LANES; i++) {
        const unsigned c = tide_attention_channel<DIM>(tide_attention_lane(), i);
        const bool is_four = i / 4 * 4 + 4 <= DIM / ATTENTION_LANES;
        if (is_four && shape.in_fours) {
            if (i % 4 == 0 && c < shape.D) {
                tide_four<T> four;
#pragma unroll
                for (unsigned k = 0; k < 4; k++) {
                    tide_write(&four.x[k], x[is_four ? i + k : i] * factor);
                }
                *reinterpret_cast<tide_four<T> *>(row + c) = four;
            }
        } else if (c < shape.D) {
            tide_write(row + c, x[i] * factor);
        }
    }
}

/* x[own + r][c] = the thread's part of sums[r][c] * factors[r]. */
template <unsigned DIM, unsigned M, typename T>
static __device__ __forceinline__ void
tide_attention_store(T *x, const tide_attention_shape &shape, const tide_attention_place &place,
                     const float (&sums)[M][DIM / ATTENTION_LANES], const float (&factors)[M]) {
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
        const size_t t = place.own + tide_attention_group() + i * ATTENTION_GROUPS;
        if (t >= shape.T) {
            continue;
        }
        tide_attention_store_row<DIM>(x + place.at + t * shape.C, shape, sums[i], factors[i]);
    }
}

/* Over the 16 threads of a row. */
static __device__ __forceinline__ float tide_attention_row_max(float x) {
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, distance));
    }
    return x;
}

static __device__ __forceinline__ float tide_attention_row_sum(float x) {
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
        x += __shfl_xor_sync(0xFFFFFFFFU, x, distance);
    }
    return x;
}

#endif
