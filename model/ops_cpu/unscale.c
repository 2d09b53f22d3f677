/* Gradients *= factor; found_inf = 1 if an element of them is infinite or NaN. */
#include <math.h>

#include "model/ops_cpu/pieces.h"

/* x[begin .. end) *= factor. Returns whether all elements are finite: in double the sum of squares
 * of fp32 numbers does not overflow, so it is finite if and only if all of them are. */
static bool unscale(const tide_ops_cpu *cpu, tide_array x, float factor, size_t begin, size_t end) {
    float buffer[TIDE_PIECE];
    bool is_finite = true;
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *piece = tide_piece_update(cpu, x, at, n, buffer);
        is_finite = is_finite && isfinite(cpu->kernels->sum_of_squares(piece, n));
        cpu->kernels->scale(piece, factor, n);
        tide_piece_store(cpu, x, at, n, piece);
    }
    return is_finite;
}

tide_status tide_cpu_unscale(tide_ops *ops, const tide_unscale *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const float factor = (float)call->factor;
    size_t n_elements = 0;
    bool is_finite = true;
    for (size_t p = 0; p < call->n_parameters; p++) {
        TIDE_TRY(tide_ops_cpu_need_floats("unscale", &call->parameters[p].gradient, 1, error));
        n_elements += call->parameters[p].n_elements;
    }
#pragma omp parallel num_threads(cpu->n_threads) if (n_elements > TIDE_OPS_CPU_SERIAL)             \
    reduction(&& : is_finite)
    for (size_t p = 0; p < call->n_parameters; p++) {
        size_t n = call->parameters[p].n_elements;
#pragma omp for schedule(static) nowait
        for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
            is_finite = unscale(cpu, call->parameters[p].gradient, factor,
                                chunk * TIDE_OPS_CPU_CHUNK, tide_ops_cpu_chunk_end(chunk, n)) &&
                        is_finite;
        }
    }
    if (!is_finite) {
        *call->found_inf = 1;
    }
    return TIDE_OK;
}
