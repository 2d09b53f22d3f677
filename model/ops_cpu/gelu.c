/* out (n) = x (n) Phi(x), Phi the normal distribution's: GELU.
 *
 * Backward: dx = dout (Phi(x) + x phi(x)), phi its density. */
#include "model/ops_cpu/pieces.h"

/* Elements [begin, end). */
static void forward(const tide_ops_cpu *cpu, const tide_gelu_forward *call, size_t begin,
                    size_t end) {
    float buffers[2][TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *y = tide_piece_write(call->out, at, buffers[0]);
        cpu->kernels->gelu_forward(y, tide_piece_read(cpu, call->x, at, n, buffers[1]), n);
        tide_piece_store(cpu, call->out, at, n, y);
    }
}

tide_status tide_cpu_gelu_forward(tide_ops *ops, const tide_gelu_forward *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const size_t n = call->n;
    TIDE_TRY(tide_ops_cpu_need_floats("gelu", (const tide_array[]){call->out, call->x}, 2, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        forward(cpu, call, chunk * TIDE_OPS_CPU_CHUNK, tide_ops_cpu_chunk_end(chunk, n));
    }
    return TIDE_OK;
}

/* Elements [begin, end). */
static void backward(const tide_ops_cpu *cpu, const tide_gelu_backward *call, size_t begin,
                     size_t end) {
    float buffers[3][TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *slope = tide_piece_write(call->dx, at, buffers[0]);
        const float *dy = tide_piece_read(cpu, call->dout, at, n, buffers[1]);
        cpu->kernels->gelu_backward(slope, dy, tide_piece_read(cpu, call->x, at, n, buffers[2]), n);
        tide_piece_store(cpu, call->dx, at, n, slope);
    }
}

tide_status tide_cpu_gelu_backward(tide_ops *ops, const tide_gelu_backward *call,
                                   tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const tide_array arrays[] = {call->dx, call->dout, call->x};
    const size_t n = call->n;
    TIDE_TRY(tide_ops_cpu_need_floats("gelu", arrays, 3, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        backward(cpu, call, chunk * TIDE_OPS_CPU_CHUNK, tide_ops_cpu_chunk_end(chunk, n));
    }
    return TIDE_OK;
}
