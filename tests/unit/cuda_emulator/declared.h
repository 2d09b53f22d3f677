/* declared.h - what a set of CUDA headers declares: declared.cpp is compiled twice, once with the
 * emulator's headers and once with the toolkit's, so that a test can compare them. */
#ifndef TIDE_TESTS_DECLARED_H
#define TIDE_TESTS_DECLARED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct declared_value {
    const char *name; /* of a constant, a function, or a property of a type */
    long long value;  /* of the constant or property; 0 for functions */
    const char *type; /* of the function, as the compiler writes it; "" otherwise */
} declared_value;

typedef struct declared_headers {
    const declared_value *values;           /* static */
    size_t n_values;                        /* the same names in the same order on both sides */
    uint16_t (*to_bf16)(float x);           /* __float2bfloat16_rn */
    float (*to_fp32)(uint16_t bits);        /* __bfloat162float */
    uint32_t (*two_bf16)(float x, float y); /* __floats2bfloat162_rn, as laid out in memory */
} declared_headers;

const declared_headers *declared_by_emulator(void);
const declared_headers *declared_by_toolkit(void);

#ifdef __cplusplus
}
#endif

#endif
