/* cuda_bf16.h - bf16 numbers and their conversions, under the toolkit's names, for builds on
 * machines without the toolkit: the part that kernels use. Conversions round to nearest, ties to
 * even; every NaN becomes 0x7FFF, as on the device.
 */
#ifndef TIDE_TESTS_CUDA_BF16_H
#define TIDE_TESTS_CUDA_BF16_H

#include <cstdint>
#include <cstring>

#include "vector_types.h"

struct __nv_bfloat16 {
    unsigned short bits; /* the upper half of the fp32 number */
};

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y; /* x in the lower half of the word */
};

static inline float __bfloat162float(__nv_bfloat16 number) {
    std::uint32_t bits = static_cast<std::uint32_t>(number.bits) << 16;
    float wide;
    std::memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

static inline __nv_bfloat16 __float2bfloat16_rn(float wide) {
    std::uint32_t bits;
    std::memcpy(&bits, &wide, sizeof(bits));
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
        return {0x7FFF};
    }
    return {static_cast<unsigned short>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

static inline __nv_bfloat16 __float2bfloat16(float wide) {
    return __float2bfloat16_rn(wide);
}

static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}

static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
    return {x, y};
}

static inline float2 __bfloat1622float2(__nv_bfloat162 pair) {
    return {__bfloat162float(pair.x), __bfloat162float(pair.y)};
}

static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 number) {
    return number.bits;
}

static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    return {bits};
}

#endif
