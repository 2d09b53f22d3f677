/* out (n) = value. */
#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_cpu_fill(tide_ops *ops, tide_array out, double value, size_t n,
                          tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("fill", &out, 1, error));
    float *values = out.data;
    float narrow = (float)value;
#pragma omp parallel for simd num_threads(cpu->n_threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        values[i] = narrow;
    }
    return TIDE_OK;
}
