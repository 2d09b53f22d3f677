/* out (n) = silu(gate (n)) * up (n), silu(x) = x s(x), s(x) = 1 / (1 + exp(-x)).
 *
 * Backward: dup = dout * silu(gate); dgate = dout * up * s (1 + gate (1 - s)). */
#include "model/ops_cpu/pieces.h"

/* Elements [begin, end). */
static void forward(const tide_ops_cpu *cpu, const tide_swiglu_forward *call, size_t begin,
                    size_t end) {
    float buffers[3][TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *product = tide_piece_write(call->out, at, buffers[0]);
        const float *g = tide_piece_read(cpu, call->gate, at, n, buffers[1]);
        const float *u = tide_piece_read(cpu, call->up, at, n, buffers[2]);
        cpu->kernels->swiglu_forward(product, g, u, n);
        tide_piece_store(cpu, call->out, at, n, product);
    }
}

tide_status tide_cpu_swiglu_forward(tide_ops *ops, const tide_swiglu_forward *call,
                                    tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const tide_array arrays[] = {call->out, call->gate, call->up};
    const size_t n = call->n;
    TIDE_TRY(tide_ops_cpu_need_floats("swiglu", arrays, 3, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        forward(cpu, call, chunk * TIDE_OPS_CPU_CHUNK, tide_ops_cpu_chunk_end(chunk, n));
    }
    return TIDE_OK;
}

/* Elements [begin, end). */
static void backward(const tide_ops_cpu *cpu, const tide_swiglu_backward *call, size_t begin,
                     size_t end) {
    float buffers[5][TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *dgate = tide_piece_write(call->dgate, at, buffers[0]);
        float *dup = tide_piece_write(call->dup, at, buffers[1]);
        const float *dout = tide_piece_read(cpu, call->dout, at, n, buffers[2]);
        const float *gate = tide_piece_read(cpu, call->gate, at, n, buffers[3]);
        const float *up = tide_piece_read(cpu, call->up, at, n, buffers[4]);
        cpu->kernels->swiglu_backward(dgate, dup, dout, gate, up, n);
        tide_piece_store(cpu, call->dgate, at, n, dgate);
        tide_piece_store(cpu, call->dup, at, n, dup);
    }
}

tide_status tide_cpu_swiglu_backward(tide_ops *ops, const tide_swiglu_backward *call,
                                     tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const tide_array arrays[] = {call->dgate, call->dup, call->dout, call->gate, call->up};
    const size_t n = call->n;
    TIDE_TRY(tide_ops_cpu_need_floats("swiglu", arrays, 5, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        backward(cpu, call, chunk * TIDE_OPS_CPU_CHUNK, tide_ops_cpu_chunk_end(chunk, n));
    }
    return TIDE_OK;
}
