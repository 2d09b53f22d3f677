/* The course's AdamW on each parameter p (n) with gradient g, and moments m and v:
 *
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p = p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
 *   p = p - lr weight_decay p
 *
 * The arithmetic is fp32, and a narrower result is rounded once: p is updated with m and v before
 * their own rounding, so the step does not include those rounding errors. */
#include "model/ops_cpu/pieces.h"

static tide_adamw_factors make_factors(const tide_adamw *call) {
    const tide_adamw_settings *adamw = &call->settings;
    float step =
        call->step_size != NULL ? *call->step_size : (float)tide_adamw_step_size(adamw, call->t);
    return (tide_adamw_factors){(float)adamw->beta1,
                                (float)(1 - adamw->beta1),
                                (float)adamw->beta2,
                                (float)(1 - adamw->beta2),
                                step,
                                (float)adamw->eps,
                                (float)(adamw->lr * adamw->weight_decay)};
}

/* Updates elements [begin, end) of the four arrays. */
static void update(const tide_ops_cpu *cpu, const tide_parameter_arrays *arrays,
                   const tide_adamw_factors *factors, size_t begin, size_t end) {
    float buffers[4][TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *p = tide_piece_update(cpu, arrays->parameter, at, n, buffers[0]);
        float *m = tide_piece_update(cpu, arrays->exp_avg, at, n, buffers[1]);
        float *v = tide_piece_update(cpu, arrays->exp_avg_sq, at, n, buffers[2]);
        const float *g = tide_piece_read(cpu, arrays->gradient, at, n, buffers[3]);
        cpu->kernels->adamw(p, m, v, g, factors, n);
        tide_piece_store(cpu, arrays->parameter, at, n, p);
        tide_piece_store(cpu, arrays->exp_avg, at, n, m);
        tide_piece_store(cpu, arrays->exp_avg_sq, at, n, v);
    }
}

tide_status tide_cpu_adamw(tide_ops *ops, const tide_adamw *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const tide_adamw_factors factors = make_factors(call);
    size_t n_elements = 0;
    bool is_skipped = call->found_inf != NULL && *call->found_inf != 0;
    for (size_t p = 0; p < call->n_parameters; p++) {
        const tide_array arrays[] = {call->parameters[p].parameter, call->parameters[p].gradient,
                                     call->parameters[p].exp_avg, call->parameters[p].exp_avg_sq};
        TIDE_TRY(tide_ops_cpu_need_floats("adamw", arrays, 4, error));
        n_elements += call->parameters[p].n_elements;
    }
    if (is_skipped) {
        return TIDE_OK;
    }
#pragma omp parallel num_threads(cpu->n_threads) if (n_elements > TIDE_OPS_CPU_SERIAL)
    for (size_t p = 0; p < call->n_parameters; p++) {
        size_t n = call->parameters[p].n_elements;
#pragma omp for schedule(static) nowait
        for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
            update(cpu, &call->parameters[p], &factors, chunk * TIDE_OPS_CPU_CHUNK,
                   tide_ops_cpu_chunk_end(chunk, n));
        }
    }
    return TIDE_OK;
}
