/* norm (1) = sqrt of the sum of squares of all gradients: one partial sum per chunk of
 * TIDE_NORM_CHUNK elements of each gradient, added up in their order. */
#include <math.h>

#include "model/ops_cpu/ops_cpu_internal.h"

static float sum_of_squares(const float *x, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    return (float)sum;
}

tide_status tide_cpu_global_norm(tide_ops *ops, const tide_parameter_arrays *parameters,
                                 size_t n_parameters, float *scratch, float *norm,
                                 tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    size_t n_partials = 0;
    for (size_t p = 0; p < n_parameters; p++) {
        const tide_parameter_arrays *parameter = &parameters[p];
        TIDE_TRY(tide_ops_cpu_need_fp32("global_norm", &parameter->gradient, 1, error));
        size_t n_chunks = (parameter->n_elements + TIDE_NORM_CHUNK - 1) / TIDE_NORM_CHUNK;
        const float *gradient = parameter->gradient.data;
        float *partials = scratch + n_partials;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
        for (size_t chunk = 0; chunk < n_chunks; chunk++) { /* gradient[begin ..) */
            size_t begin = chunk * TIDE_NORM_CHUNK;
            size_t left = parameter->n_elements - begin;
            partials[chunk] =
                sum_of_squares(gradient + begin, left < TIDE_NORM_CHUNK ? left : TIDE_NORM_CHUNK);
        }
        n_partials += n_chunks;
    }
    double sum = 0;
    for (size_t i = 0; i < n_partials; i++) {
        sum += (double)scratch[i];
    }
    *norm = (float)sqrt(sum);
    return TIDE_OK;
}
