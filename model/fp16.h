/* fp16.h - IEEE 754 half precision: 11 significant bits, from 2^-24 to 65504, then infinity. */
#ifndef TIDE_MODEL_FP16_H
#define TIDE_MODEL_FP16_H

#include <stdint.h>
#include <string.h>

/* Exact: fp32 holds every value of fp16. */
static inline float tide_fp16_to_fp32(uint16_t x) {
    uint32_t sign = (uint32_t)(x & 0x8000U) << 16;
    uint32_t exponent = (x >> 10) & 0x1FU;
    uint32_t fraction = x & 0x3FFU;
    uint32_t bits = sign | ((exponent + 112U) << 23) | (fraction << 13);
    float wide;
    if (exponent == 0) { /* zero and subnormals: fraction times 2^-24 */
        wide = (float)fraction * 0x1p-24F;
        return sign != 0 ? -wide : wide;
    }
    if (exponent == 0x1FU) { /* infinity and NaN */
        bits = sign | UINT32_C(0x7F800000) | (fraction << 13);
    }
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

/* To nearest, ties to even; from 65520 up to infinity; NaN stays NaN. */
static inline uint16_t tide_fp32_to_fp16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    uint32_t sign = (bits >> 16) & 0x8000U;
    uint32_t magnitude = bits & UINT32_C(0x7FFFFFFF);
    if (magnitude > UINT32_C(0x7F800000)) {
        return (uint16_t)(sign | 0x7E00U | ((magnitude >> 13) & 0x3FFU));
    }
    if (magnitude >= UINT32_C(0x477FF000)) { /* 65520 is halfway to what would be 2^16 */
        return (uint16_t)(sign | 0x7C00U);
    }
    if (magnitude < UINT32_C(0x38800000)) { /* below 2^-14: a multiple of 2^-24 */
        float small;
        memcpy(&small, &magnitude, sizeof(small));
        /* The sum has 2^-24 as its last bit, so the addition rounds, to nearest and ties to even.
         */
        float shifted = small + 0.5F;
        memcpy(&magnitude, &shifted, sizeof(magnitude));
        return (uint16_t)(sign | (magnitude - UINT32_C(0x3F000000)));
    }
    uint32_t rounded = magnitude + UINT32_C(0xFFF) + ((magnitude >> 13) & 1U);
    return (uint16_t)(sign | ((rounded - UINT32_C(0x38000000)) >> 13));
}

#endif
