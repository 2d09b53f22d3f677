/* out (n) = silu(gate (n)) * up (n), silu(x) = x s(x), s(x) = 1 / (1 + exp(-x)).
 *
 * Backward: dup = dout * silu(gate); dgate = dout * up * s (1 + gate (1 - s)). */
#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_cpu_swiglu_forward(tide_ops *ops, tide_array out, tide_array gate, tide_array up,
                                    size_t n, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("swiglu", (const tide_array[]){out, gate, up}, 3, error));
    float *product = out.data;
    const float *g = gate.data;
    const float *u = up.data;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        size_t end = tide_ops_cpu_chunk_end(chunk, n);
#pragma omp simd
        for (size_t i = chunk * TIDE_OPS_CPU_CHUNK; i < end; i++) {
            product[i] = g[i] / (1 + tide_exp(-g[i])) * u[i];
        }
    }
    return TIDE_OK;
}

tide_status tide_cpu_swiglu_backward(tide_ops *ops, tide_array dgate, tide_array dup,
                                     tide_array dout, tide_array gate, tide_array up, size_t n,
                                     tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("swiglu", (const tide_array[]){dgate, dup, dout, gate, up}, 5,
                                    error));
    float *dg = dgate.data;
    float *du = dup.data;
    const float *d = dout.data;
    const float *g = gate.data;
    const float *u = up.data;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        size_t end = tide_ops_cpu_chunk_end(chunk, n);
#pragma omp simd
        for (size_t i = chunk * TIDE_OPS_CPU_CHUNK; i < end; i++) {
            float e = tide_exp(-g[i]);
            float s = 1 / (1 + e);
            float gradient = d[i];
            du[i] = gradient * (g[i] * s);
            dg[i] = gradient * u[i] * s * (1 + g[i] * (e * s)); /* e s = 1 - s, uncancelled */
        }
    }
    return TIDE_OK;
}
