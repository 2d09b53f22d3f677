/* out (n) = x (n), each fp32, bf16 or fp16; to nearest, ties to even, if the type narrows. */
#include <string.h>

#include "model/ops_cpu/pieces.h"

/* Elements [begin, end), from one type of two bytes to another. */
static void cast_narrow(const tide_ops_cpu *cpu, const tide_cast *call, size_t begin, size_t end) {
    float buffer[TIDE_PIECE];
    size_t n;
    for (size_t at = begin; at < end; at += n) {
        n = tide_piece_length(at, end);
        tide_widen(cpu, buffer, call->x, at, n);
        tide_narrow(cpu, call->out, at, buffer, n);
    }
}

/* Elements [begin, begin + n). */
static void cast(const tide_ops_cpu *cpu, const tide_cast *call, size_t begin, size_t n) {
    const tide_array out = call->out;
    const tide_array x = call->x;
    size_t bytes = tide_dtype_bytes(out.dtype);
    if (out.dtype == x.dtype) {
        memcpy((char *)out.data + begin * bytes, (const char *)x.data + begin * bytes, n * bytes);
    } else if (x.dtype == TIDE_FP32) {
        tide_narrow(cpu, out, begin, (const float *)x.data + begin, n);
    } else if (out.dtype == TIDE_FP32) {
        tide_widen(cpu, (float *)out.data + begin, x, begin, n);
    } else {
        cast_narrow(cpu, call, begin, begin + n);
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
