/* philox.h - the device's version of model/philox.h: the same contract and the same numbers. */
#ifndef TIDE_MODEL_OPS_CUDA_PHILOX_H
#define TIDE_MODEL_OPS_CUDA_PHILOX_H

#include "model/ops_cuda/gpu.h"
#include "model/philox.h"

/* The numbers of elements 4 block .. 4 block + 3 of a stream. */
static __device__ __forceinline__ tide_philox_block tide_cuda_philox(uint64_t seed, uint64_t stream,
                                                                     uint64_t block) {
    uint32_t c0 = static_cast<uint32_t>(block);
    uint32_t c1 = static_cast<uint32_t>(block >> 32);
    uint32_t c2 = static_cast<uint32_t>(stream);
    uint32_t c3 = static_cast<uint32_t>(stream >> 32);
    uint32_t k0 = static_cast<uint32_t>(seed);
    uint32_t k1 = static_cast<uint32_t>(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) { /* constants as in model/philox.c */
        const uint64_t product_0 = static_cast<uint64_t>(0xD2511F53U) * c0;
        const uint64_t product_1 = static_cast<uint64_t>(0xCD9E8D57U) * c2;
        c0 = static_cast<uint32_t>(product_1 >> 32) ^ c1 ^ k0;
        c1 = static_cast<uint32_t>(product_1);
        c2 = static_cast<uint32_t>(product_0 >> 32) ^ c3 ^ k1;
        c3 = static_cast<uint32_t>(product_0);
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return {{c0, c1, c2, c3}};
}

#endif
