/* out (n) += x (n). */
#include "model/ops_cpu/pieces.h"

/* Elements [begin, end). */
static void add(const tide_ops_cpu *cpu, tide_array out, tide_array x, size_t begin, size_t end) {
    float buffers[2][TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        float *sum = tide_piece_update(cpu, out, at, n, buffers[0]);
        cpu->kernels->add(sum, tide_piece_read(cpu, x, at, n, buffers[1]), n);
        tide_piece_store(cpu, out, at, n, sum);
    }
}

tide_status tide_cpu_residual_add(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                  tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats("residual_add", (const tide_array[]){out, x}, 2, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        add(cpu, out, x, chunk * TIDE_OPS_CPU_CHUNK, tide_ops_cpu_chunk_end(chunk, n));
    }
    return TIDE_OK;
}
