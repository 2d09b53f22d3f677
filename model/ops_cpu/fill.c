/* out (n) = value, rounded once to its type. */
#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_cpu_fill(tide_ops *ops, const tide_fill *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats("fill", &call->out, 1, error));
    const tide_array out = call->out;
    const size_t n = call->n;
    float wide = (float)call->value;
    uint16_t narrow = out.dtype == TIDE_FP16 ? tide_fp32_to_fp16(wide) : tide_fp32_to_bf16(wide);
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t chunk = 0; chunk < tide_ops_cpu_n_chunks(n); chunk++) {
        size_t begin = chunk * TIDE_OPS_CPU_CHUNK;
        size_t end = tide_ops_cpu_chunk_end(chunk, n);
        if (out.dtype == TIDE_FP32) {
#pragma omp simd
            for (size_t i = begin; i < end; i++) {
                ((float *)out.data)[i] = wide;
            }
        } else {
#pragma omp simd
            for (size_t i = begin; i < end; i++) {
                ((uint16_t *)out.data)[i] = narrow;
            }
        }
    }
    return TIDE_OK;
}
