/* cuda_fp16.h - fp16 numbers and their conversions, under the toolkit's names, for builds on
 * machines without the toolkit: the part that kernels use. Conversions round to nearest, ties to
 * even; every NaN becomes 0x7FFF, as on the device.
 */
#ifndef TIDE_TESTS_CUDA_FP16_H
#define TIDE_TESTS_CUDA_FP16_H

#include "model/fp16.h"

struct __half {
    unsigned short bits;
};

static inline float __half2float(__half number) {
    return tide_fp16_to_fp32(number.bits);
}

static inline __half __float2half_rn(float wide) {
    if (wide != wide) {
        return {0x7FFF};
    }
    return {tide_fp32_to_fp16(wide)};
}

static inline unsigned short __half_as_ushort(__half number) {
    return number.bits;
}

static inline __half __ushort_as_half(unsigned short bits) {
    return {bits};
}

#endif
