/* weights.h - weights of matrices as kernels read them: fp32, bf16 or int8, cast to fp32, a pack of
 * 16 bytes at a time or one by one. For .cu files. */
#ifndef TIDE_MODEL_OPS_CUDA_WEIGHTS_H
#define TIDE_MODEL_OPS_CUDA_WEIGHTS_H

#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/storage.h"
#include "model/ops_cuda/vector.h"

template <typename W> struct tide_weights {
    static constexpr size_t PACK = TIDE_PACK<W>;
    const W *data; /* device memory, borrowed */

    /* The pack from `at` on, whose address is a multiple of 16. */
    __device__ __forceinline__ void load(float (&to)[PACK], size_t at) const {
        tide_read_pack(data + at, to);
    }
    __device__ __forceinline__ float one(size_t at) const {
        return tide_read(data + at);
    }
};

template <> struct tide_weights<int8_t> {
    static constexpr size_t PACK = 16;
    const int8_t *data; /* as above */

    __device__ __forceinline__ void load(float (&to)[PACK], size_t at) const {
        const uint4 bits = tide_load16(data + at);
        const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (size_t i = 0; i < PACK; i++) {
            to[i] = static_cast<float>(static_cast<int8_t>(words[i / 4] >> 8 * (i % 4)));
        }
    }
    __device__ __forceinline__ float one(size_t at) const {
        return static_cast<float>(data[at]);
    }
};

/* Products of weights with an array of X that a lane takes at a time: whole packs of either. */
template <typename W, typename X>
constexpr size_t TIDE_PRODUCTS =
    tide_weights<W>::PACK > TIDE_PACK<X> ? tide_weights<W>::PACK : TIDE_PACK<X>;

#endif
