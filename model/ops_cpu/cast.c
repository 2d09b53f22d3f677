/* out (n) = x (n), each fp32 or bf16; to nearest, ties to even, where the type narrows. */
#include "model/ops_cpu/ops_cpu_internal.h"

static float load(tide_array x, size_t i) {
    return x.dtype == TIDE_BF16 ? tide_bf16_to_fp32(((const uint16_t *)x.data)[i])
                                : ((const float *)x.data)[i];
}

tide_status tide_cpu_cast(tide_ops *ops, tide_array out, tide_array x, size_t n,
                          tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    if (out.dtype == TIDE_INT32 || x.dtype == TIDE_INT32) {
        return tide_fail(error, TIDE_UNSUPPORTED, "cast: device cpu casts fp32 and bf16 alone");
    }
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        float value = load(x, i);
        if (out.dtype == TIDE_BF16) {
            ((uint16_t *)out.data)[i] = tide_fp32_to_bf16(value);
        } else {
            ((float *)out.data)[i] = value;
        }
    }
    return TIDE_OK;
}
