/* Gradients *= min(1, max_norm / (norm + 1e-6)). */
#include "model/ops_cpu/pieces.h"

static const double EPSILON = 1e-6;

/* x[begin .. end) *= factor */
static void scale(const tide_ops_cpu *cpu, tide_array x, float factor, size_t begin, size_t end) {
    float buffer[TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *piece = tide_piece_update(cpu, x, at, n, buffer);
        cpu->kernels->scale(piece, factor, n);
        tide_piece_store(cpu, x, at, n, piece);
    }
}

tide_status tide_cpu_clip(tide_ops *ops, const tide_clip *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    size_t n_elements = 0;
    for (size_t p = 0; p < call->n_parameters; p++) {
        TIDE_TRY(tide_ops_cpu_need_floats("clip", &call->parameters[p].gradient, 1, error));
        n_elements += call->parameters[p].n_elements;
    }
    double ratio = call->max_norm / ((double)*call->norm + EPSILON);
    /* Gradients with a small norm are not changed, to the bit: a factor of 1 is not applied. */
    if (ratio >= 1) {
        return TIDE_OK;
    }
    float coefficient = (float)ratio;
#pragma omp parallel num_threads(cpu->n_threads) if (n_elements > TIDE_OPS_CPU_SERIAL)
    for (size_t p = 0; p < call->n_parameters; p++) {
        size_t n = call->parameters[p].n_elements;
#pragma omp for schedule(static) nowait
        for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
            scale(cpu, call->parameters[p].gradient, coefficient, chunk * TIDE_OPS_CPU_CHUNK,
                  tide_ops_cpu_chunk_end(chunk, n));
        }
    }
    return TIDE_OK;
}
