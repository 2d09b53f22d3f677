/* reduce.h - sums and maxima over the threads of a warp or a block. The trees have a fixed shape,
 * so the result depends only on the numbers and the number of threads, and every thread gets the
 * same bits. */
#ifndef TIDE_MODEL_OPS_CUDA_REDUCE_H
#define TIDE_MODEL_OPS_CUDA_REDUCE_H

#include "model/ops_cuda/gpu.h"

enum { TIDE_WARP = 32 };
static constexpr unsigned TIDE_ALL_LANES = 0xFFFFFFFFU;

static __device__ __forceinline__ unsigned tide_lane(void) {
    return threadIdx.x % TIDE_WARP;
}

/* Over the 32 lanes of a warp; all of them must call. */
template <typename T> static __device__ __forceinline__ T tide_warp_sum(T x) {
#pragma unroll
    for (int distance = TIDE_WARP / 2; distance > 0; distance /= 2) {
        x += __shfl_xor_sync(TIDE_ALL_LANES, x, distance);
    }
    return x;
}

/* Over a one-dimensional block of whole warps; all its threads must call. */
template <typename T> static __device__ __forceinline__ T tide_block_sum(T x) {
    TIDE_SHARED(T, sums, [TIDE_WARP]);
    const unsigned n_warps = blockDim.x / TIDE_WARP;
    x = tide_warp_sum(x);
    if (n_warps == 1) {
        return x;
    }
    __syncthreads(); /* a warp may still read `sums` for the sum before */
    if (tide_lane() == 0) {
        sums[threadIdx.x / TIDE_WARP] = x;
    }
    __syncthreads();
    return tide_warp_sum(tide_lane() < n_warps ? sums[tide_lane()] : T(0));
}

#endif
