/* row_packs.h - how the threads of a block share one row. For .cu files. */
#ifndef TIDE_MODEL_OPS_CUDA_ROW_PACKS_H
#define TIDE_MODEL_OPS_CUDA_ROW_PACKS_H

#include "model/ops_cuda/gpu.h"

/* The packs of a row: n_packs of N elements; the others one by one. */
struct tide_row_packs {
    size_t n_packs; /* 0 unless C % N is 0 and everything is aligned */
    size_t R, C;    /* rows, channels */
};

/* Calls f.at<N>(c) for this thread's packs of a row and f.at<1>(c) for its single elements. */
template <size_t N, typename F>
static __device__ __forceinline__ void tide_each_pack(tide_row_packs shape, F f) {
    for (size_t i = threadIdx.x; i < shape.n_packs; i += blockDim.x) {
        f.template at<N>(i * N);
    }
    for (size_t c = shape.n_packs * N + threadIdx.x; c < shape.C; c += blockDim.x) {
        f.template at<1>(c);
    }
}

#endif
