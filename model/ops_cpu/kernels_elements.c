/* The loops of kernels.h. Compiled once per instruction set, with TIDE_KERNELS its table's name and
 * TIDE_KERNELS_NAME what people read. */
#include <string.h>

#include "model/ops_cpu/kernels.h"
#include "model/ops_cpu/ops_cpu_internal.h"

static void widen(float *out, const uint16_t *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = tide_bf16_to_fp32(x[i]);
    }
}

static void narrow(uint16_t *out, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = tide_fp32_to_bf16(x[i]);
    }
}

extern const tide_cpu_kernels TIDE_KERNELS;
const tide_cpu_kernels TIDE_KERNELS = {
    .name = TIDE_KERNELS_NAME,
    .widen = widen,
    .narrow = narrow,
};
