/* out (n) += x (n). */
#include "model/ops_cpu/pieces.h"

/* Elements [begin, end). */
static void add(const tide_ops_cpu *cpu, const tide_residual_add *call, size_t begin, size_t end) {
    float buffers[2][TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *sum = tide_piece_update(cpu, call->out, at, n, buffers[0]);
        cpu->kernels->add(sum, tide_piece_read(cpu, call->x, at, n, buffers[1]), n);
        tide_piece_store(cpu, call->out, at, n, sum);
    }
}

tide_status tide_cpu_residual_add(tide_ops *ops, const tide_residual_add *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const tide_array arrays[] = {call->out, call->x};
    const size_t n = call->n;
    TIDE_TRY(tide_ops_cpu_need_floats("residual_add", arrays, 2, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        add(cpu, call, chunk * TIDE_OPS_CPU_CHUNK, tide_ops_cpu_chunk_end(chunk, n));
    }
    return TIDE_OK;
}
