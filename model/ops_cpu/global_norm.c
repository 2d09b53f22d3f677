/* norm (1) = sqrt of the sum of squares of all gradients: one partial sum per chunk of
 * TIDE_NORM_CHUNK elements of each gradient, added up in their order. */
#include <math.h>

#include "model/ops_cpu/pieces.h"

/* Of x[begin .. end). */
static float sum_of_squares(const tide_ops_cpu *cpu, tide_array x, size_t begin, size_t end) {
    float buffer[TIDE_PIECE];
    double sum = 0;
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        sum += cpu->kernels->sum_of_squares(tide_piece_read(cpu, x, at, n, buffer), n);
    }
    return (float)sum;
}

static size_t n_partials(const tide_parameter_arrays *parameter) {
    return (parameter->n_elements + TIDE_NORM_CHUNK - 1) / TIDE_NORM_CHUNK;
}

/* One thread's share of all partial sums. */
static void make_partials(const tide_ops_cpu *cpu, const tide_global_norm *call) {
    float *scratch = call->scratch;
    for (size_t p = 0; p < call->n_parameters; p++) {
        const tide_parameter_arrays *parameter = &call->parameters[p];
        size_t n = parameter->n_elements;
#pragma omp for schedule(static) nowait
        for (size_t i = 0; i < n_partials(parameter); i++) { /* scratch[i] */
            size_t begin = i * TIDE_NORM_CHUNK;
            size_t end = n - begin < TIDE_NORM_CHUNK ? n : begin + TIDE_NORM_CHUNK;
            /* Partial sums by chunk and not by thread: the result is the same for any number of
             * threads. */
            scratch[i] = sum_of_squares(cpu, parameter->gradient, begin, end);
        }
        scratch += n_partials(parameter);
    }
}

tide_status tide_cpu_global_norm(tide_ops *ops, const tide_global_norm *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    size_t n_elements = 0;
    for (size_t p = 0; p < call->n_parameters; p++) {
        TIDE_TRY(tide_ops_cpu_need_floats("global_norm", &call->parameters[p].gradient, 1, error));
        n_elements += call->parameters[p].n_elements;
    }
#pragma omp parallel num_threads(cpu->n_threads) if (n_elements > TIDE_OPS_CPU_SERIAL)
    make_partials(cpu, call);
    size_t n = tide_ops_norm_scratch_elements(call->parameters, call->n_parameters);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)call->scratch[i];
    }
    *call->norm = (float)sqrt(sum);
    return TIDE_OK;
}
