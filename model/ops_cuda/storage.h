/* storage.h - how kernels read and write elements of every storage type: as fp32 numbers, one at a
 * time or 16 bytes at a time (a pack). Writing bf16 or fp16 rounds to nearest even, once. For .cu
 * files.
 */
#ifndef TIDE_MODEL_OPS_CUDA_STORAGE_H
#define TIDE_MODEL_OPS_CUDA_STORAGE_H

#include "model/ops_cuda/gpu.h"

/* Elements of type T in a pack. */
template <typename T> constexpr int TIDE_PACK = 16 / static_cast<int>(sizeof(T));

static __device__ __forceinline__ float tide_read(const float *from) {
    return *from;
}

static __device__ __forceinline__ float tide_read(const __nv_bfloat16 *from) {
    return __bfloat162float(*from);
}

static __device__ __forceinline__ float tide_read(const __half *from) {
    return __half2float(*from);
}

static __device__ __forceinline__ void tide_write(float *to, float x) {
    *to = x;
}

static __device__ __forceinline__ void tide_write(__nv_bfloat16 *to, float x) {
    *to = __float2bfloat16_rn(x);
}

static __device__ __forceinline__ void tide_write(__half *to, float x) {
    *to = __float2half_rn(x);
}

/* The pack at `from`, which is aligned to 16 bytes. */
static __device__ __forceinline__ void tide_read_pack(const float *from, float (&to)[4]) {
    const uint4 bits = tide_load16(from);
    to[0] = __uint_as_float(bits.x);
    to[1] = __uint_as_float(bits.y);
    to[2] = __uint_as_float(bits.z);
    to[3] = __uint_as_float(bits.w);
}

static __device__ __forceinline__ void tide_read_pack(const __nv_bfloat16 *from, float (&to)[8]) {
    const uint4 bits = tide_load16(from);
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __uint_as_float(words[i] << 16);
        to[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
    }
}

static __device__ __forceinline__ void tide_read_pack(const __half *from, float (&to)[8]) {
    const uint4 bits = tide_load16(from);
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __half2float(__ushort_as_half(static_cast<unsigned short>(words[i])));
        to[2 * i + 1] = __half2float(__ushort_as_half(static_cast<unsigned short>(words[i] >> 16)));
    }
}

static __device__ __forceinline__ void tide_write_pack(float *to, const float (&x)[4]) {
    tide_store16(to, make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]),
                                __float_as_uint(x[3])));
}

/* Two numbers as bf16 in one word, `low` in its lower half. */
static __device__ __forceinline__ unsigned tide_two_bf16(float low, float high) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(low)) |
           static_cast<unsigned>(__bfloat16_as_ushort(__float2bfloat16_rn(high))) << 16;
}

static __device__ __forceinline__ void tide_write_pack(__nv_bfloat16 *to, const float (&x)[8]) {
    tide_store16(to, make_uint4(tide_two_bf16(x[0], x[1]), tide_two_bf16(x[2], x[3]),
                                tide_two_bf16(x[4], x[5]), tide_two_bf16(x[6], x[7])));
}

/* Two numbers as fp16 in one word, `low` in its lower half. */
static __device__ __forceinline__ unsigned tide_two_fp16(float low, float high) {
    return __half_as_ushort(__float2half_rn(low)) |
           static_cast<unsigned>(__half_as_ushort(__float2half_rn(high))) << 16;
}

static __device__ __forceinline__ void tide_write_pack(__half *to, const float (&x)[8]) {
    tide_store16(to, make_uint4(tide_two_fp16(x[0], x[1]), tide_two_fp16(x[2], x[3]),
                                tide_two_fp16(x[4], x[5]), tide_two_fp16(x[6], x[7])));
}

/* For launchers: how many packs of T the n elements of each of these arrays have; 0 if one of them
 * is not aligned to 16 bytes, and all are read element by element. */
template <typename T, typename... Pointers>
static size_t tide_n_packs(size_t n, const Pointers *...arrays) {
    const uintptr_t addresses = (reinterpret_cast<uintptr_t>(arrays) | ...);
    return addresses % 16 == 0 ? n / TIDE_PACK<T> : 0;
}

#endif
