/* bf16.h - the 16 upper bits of an fp32 number as a number: 8 significant bits and fp32's range. */
#ifndef TIDE_MODEL_BF16_H
#define TIDE_MODEL_BF16_H

#include <stdint.h>
#include <string.h>

static inline float tide_bf16_to_fp32(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float wide;
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

/* To nearest, ties to even; NaN stays NaN. */
static inline uint16_t tide_fp32_to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if ((bits & UINT32_C(0x7FFFFFFF)) > UINT32_C(0x7F800000)) {
        return (uint16_t)((bits >> 16) | 0x40U);
    }
    return (uint16_t)((bits + UINT32_C(0x7FFF) + ((bits >> 16) & 1U)) >> 16);
}

#endif
