/* Gradients *= min(1, max_norm / (norm + 1e-6)). */
#include "model/ops_cpu/ops_cpu_internal.h"

static const double EPSILON = 1e-6;

tide_status tide_cpu_clip(tide_ops *ops, const tide_parameter_arrays *parameters,
                          size_t n_parameters, const float *norm, double max_norm,
                          tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    double ratio = max_norm / ((double)*norm + EPSILON);
    if (ratio >= 1) {
        return TIDE_OK;
    }
    float coefficient = (float)ratio;
    for (size_t p = 0; p < n_parameters; p++) {
        TIDE_TRY(tide_ops_cpu_need_fp32("clip", &parameters[p].gradient, 1, error));
        float *gradient = parameters[p].gradient.data;
        size_t n = parameters[p].n_elements;
#pragma omp parallel for simd num_threads(cpu->n_threads) schedule(static)
        for (size_t i = 0; i < n; i++) {
            gradient[i] *= coefficient;
        }
    }
    return TIDE_OK;
}
