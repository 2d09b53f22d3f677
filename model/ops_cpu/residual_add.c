/* out (n) += x (n). */
#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_cpu_residual_add(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                  tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("residual_add", (const tide_array[]){out, x}, 2, error));
    float *sum = out.data;
    const float *term = x.data;
#pragma omp parallel for simd num_threads(cpu->n_threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        sum[i] += term[i];
    }
    return TIDE_OK;
}
