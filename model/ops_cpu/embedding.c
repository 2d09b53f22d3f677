/* out (R, C) = table (V, C) at tokens (R); backward: dtable (V, C) = 0, then += dout (R, C) at
 * tokens, rows in order. */
#include <string.h>

#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_cpu_embedding_forward(tide_ops *ops, tide_array out, tide_array table,
                                       const int32_t *tokens, size_t R, size_t C,
                                       tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("embedding", (const tide_array[]){out, table}, 2, error));
    float *rows = out.data;
    const float *vectors = table.data;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t r = 0; r < R; r++) { /* out[r][:] */
        memcpy(rows + r * C, vectors + (size_t)tokens[r] * C, C * sizeof(float));
    }
    return TIDE_OK;
}

/* Channels of one piece: a cache line's worth, so that no two threads write to the same one. */
enum { CHANNELS = 64 };

tide_status tide_cpu_embedding_backward(tide_ops *ops, tide_array dtable, tide_array dout,
                                        const int32_t *tokens, size_t R, size_t C, size_t V,
                                        tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("embedding", (const tide_array[]){dtable, dout}, 2, error));
    TIDE_TRY(tide_cpu_fill(ops, dtable, 0, V * C, error));
    float *gradients = dtable.data;
    const float *rows = dout.data;
    size_t n_pieces = (C + CHANNELS - 1) / CHANNELS;
    /* Pieces are of channels: rows with the same token are then added in the order of rows. */
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t piece = 0; piece < n_pieces; piece++) { /* dtable[:][c0 .. c1) */
        size_t c0 = piece * CHANNELS;
        size_t c1 = c0 + CHANNELS < C ? c0 + CHANNELS : C;
        for (size_t r = 0; r < R; r++) {
            float *gradient = gradients + (size_t)tokens[r] * C;
            const float *row = rows + r * C;
            for (size_t c = c0; c < c1; c++) {
                gradient[c] += row[c];
            }
        }
    }
    return TIDE_OK;
}
