/* NCCL adds in the order of its ring and rounds to the type after every sum; here the order is that
 * of the ranks. Sums of numbers other than small integers may differ in the last bit. */
#include "programs/virtual_cuda/nccl/reduce.h"

#include <stdint.h>
#include <string.h>

size_t tide_vc_nccl_type_bytes(int type) {
    static const size_t BYTES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && (size_t)type < sizeof(BYTES) / sizeof(BYTES[0]) ? BYTES[type] : 0;
}

bool tide_vc_nccl_can_reduce(int type, int operation) {
    return type >= TIDE_VC_INT8 && type <= TIDE_VC_BFLOAT16 && operation >= TIDE_VC_SUM &&
           operation <= TIDE_VC_AVERAGE;
}

/* ---- 16-bit floating point ---- */

static float float_of_bits(uint32_t bits) {
    float value = 0.0F;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t bits_of_float(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* An fp16 of exponent 0 is a multiple of 2^-24. */
static float from_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    uint32_t exponent = (half >> 10) & 0x1FU;
    uint32_t fraction = half & 0x3FFU;
    if (exponent == 0) {
        float value = (float)fraction * 0x1p-24F;
        return sign != 0 ? -value : value;
    }
    uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + (127 - 15);
    return float_of_bits(sign | (wide << 23) | (fraction << 13));
}

/* Rounds to nearest, ties to even, as the card does. */
static uint32_t shifted(uint32_t bits, unsigned by) {
    uint32_t half = (UINT32_C(1) << (by - 1)) - 1;
    return (bits + half + ((bits >> by) & 1U)) >> by;
}

static uint16_t to_half(float value) {
    uint32_t bits = bits_of_float(value);
    uint32_t sign = (bits >> 16) & 0x8000U;
    uint32_t rest = bits & 0x7FFFFFFFU;
    if (rest > 0x7F800000U) {
        return (uint16_t)(sign | 0x7E00U); /* not a number */
    }
    if (rest >= 0x477FF000U) { /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7C00U);
    }
    if (rest < 0x38800000U) { /* below 2^-14: a multiple of 2^-24; the sum rounds it */
        return (uint16_t)(sign | (bits_of_float(float_of_bits(rest) + 0.5F) - 0x3F000000U));
    }
    return (uint16_t)(sign | shifted(rest - ((uint32_t)(127 - 15) << 23), 13));
}

static uint16_t to_bfloat(float value) {
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
        return (uint16_t)((bits >> 16) | 0x40U);
    }
    return (uint16_t)shifted(bits, 16);
}

static float from_16(uint16_t value, int type) {
    return type == TIDE_VC_FLOAT16 ? from_half(value) : float_of_bits((uint32_t)value << 16);
}

static uint16_t to_16(float value, int type) {
    return type == TIDE_VC_FLOAT16 ? to_half(value) : to_bfloat(value);
}

/* ---- reductions by type ---- */

/* Sums and products of signed integers wrap around, as on the card: they are computed unsigned.
 * Names of types have no parentheses. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define REDUCE(type_name, number, wide, longest)                                                   \
    static number reduced_##type_name(number a, number b, int operation) {                         \
        switch (operation) {                                                                       \
        case TIDE_VC_PRODUCT:                                                                      \
            return (number)((wide)a * (wide)b);                                                    \
        case TIDE_VC_MAX:                                                                          \
            return a > b ? a : b;                                                                  \
        case TIDE_VC_MIN:                                                                          \
            return a < b ? a : b;                                                                  \
        default:                                                                                   \
            return (number)((wide)a + (wide)b);                                                    \
        }                                                                                          \
    }                                                                                              \
    static void reduce_##type_name(void *total, const void *more, size_t n, int operation) {       \
        number *to = total;                                                                        \
        const number *from = more;                                                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            to[i] = reduced_##type_name(to[i], from[i], operation);                                \
        }                                                                                          \
    }                                                                                              \
    static void divide_##type_name(void *total, size_t n, int n_ranks) {                           \
        number *to = total;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                           \
            to[i] = (number)((longest)to[i] / (longest)n_ranks);                                   \
        }                                                                                          \
    }                                                                                              \
    struct type_name##_needs_a_semicolon
/* NOLINTEND(bugprone-macro-parentheses) */

REDUCE(int8, int8_t, uint32_t, int64_t);
REDUCE(uint8, uint8_t, uint32_t, int64_t);
REDUCE(int32, int32_t, uint32_t, int64_t);
REDUCE(uint32, uint32_t, uint32_t, int64_t);
REDUCE(int64, int64_t, uint64_t, int64_t);
REDUCE(uint64, uint64_t, uint64_t, uint64_t);
REDUCE(float32, float, float, float);
REDUCE(float64, double, double, double);

static void reduce_16(void *total, const void *more, size_t n, int type, int operation) {
    uint16_t *to = total;
    const uint16_t *from = more;
    for (size_t i = 0; i < n; i++) {
        float value = reduced_float32(from_16(to[i], type), from_16(from[i], type), operation);
        to[i] = to_16(value, type);
    }
}

void tide_vc_nccl_reduce(void *total, const void *more, size_t n, int type, int operation) {
    static void (*const BY_TYPE[])(void *, const void *, size_t, int) = {
        reduce_int8,   reduce_uint8, reduce_int32,   reduce_uint32, reduce_int64,
        reduce_uint64, NULL,         reduce_float32, reduce_float64};
    if (type == TIDE_VC_FLOAT16 || type == TIDE_VC_BFLOAT16) {
        reduce_16(total, more, n, type, operation);
    } else {
        BY_TYPE[type](total, more, n, operation);
    }
}

void tide_vc_nccl_divide(void *total, size_t n, int type, int n_ranks) {
    static void (*const BY_TYPE[])(void *, size_t, int) = {
        divide_int8,   divide_uint8, divide_int32,   divide_uint32, divide_int64,
        divide_uint64, NULL,         divide_float32, divide_float64};
    uint16_t *small = total;
    if (type != TIDE_VC_FLOAT16 && type != TIDE_VC_BFLOAT16) {
        BY_TYPE[type](total, n, n_ranks);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        small[i] = to_16(from_16(small[i], type) / (float)n_ranks, type);
    }
}
