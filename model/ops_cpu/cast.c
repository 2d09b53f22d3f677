/* out (n) = x (n), each fp32 or bf16; to nearest, ties to even, where the type narrows. */
#include <string.h>

#include "model/ops_cpu/pieces.h"

/* Elements [begin, begin + n). */
static void cast(const tide_ops_cpu *cpu, const tide_cast *call, size_t begin, size_t n) {
    const tide_array out = call->out;
    const tide_array x = call->x;
    size_t bytes = tide_dtype_bytes(out.dtype);
    if (out.dtype == x.dtype) {
        memcpy((char *)out.data + begin * bytes, (const char *)x.data + begin * bytes, n * bytes);
    } else if (out.dtype == TIDE_BF16) {
        cpu->kernels->narrow((uint16_t *)out.data + begin, (const float *)x.data + begin, n);
    } else {
        cpu->kernels->widen((float *)out.data + begin, (const uint16_t *)x.data + begin, n);
    }
}

tide_status tide_cpu_cast(tide_ops *ops, const tide_cast *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const size_t n = call->n;
    TIDE_TRY(tide_ops_cpu_need_floats("cast", (const tide_array[]){call->out, call->x}, 2, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        size_t begin = chunk * TIDE_OPS_CPU_CHUNK;
        cast(cpu, call, begin, tide_ops_cpu_chunk_end(chunk, n) - begin);
    }
    return TIDE_OK;
}
