/* out (R, C) = table (V, C) at tokens (R); backward: dtable (V, C) = 0, then += dout (R, C) at
 * tokens, rows in order.
 *
 * Backward works by blocks of the table, each of BAND words. One thread clears a block, scans all
 * tokens, and adds the rows whose token is in the band, in fp32 and in the order of rows. So the
 * result does not depend on the number of threads, and no two threads write to one row. An fp32
 * table is the accumulator itself, over all channels; a bf16 or fp16 table is accumulated on the
 * stack, CHANNELS of them at a time, and each of its numbers is rounded once. So the scratch has a
 * fixed size. Scanning the tokens costs such a table R V C / (BAND CHANNELS) comparisons, which are
 * fewer than the R C additions as long as V < 16384, and cheaper. */
#include <string.h>

#include "model/ops_cpu/pieces.h"

/* 64 KiB in fp32. */
enum { BAND = 64, CHANNELS = 256 };

/* out[at .. at + C) = table[from .. from + C) */
static void copy_row(const tide_ops_cpu *cpu, tide_array out, size_t at, tide_array table,
                     size_t from, size_t C) {
    float buffer[TIDE_PIECE];
    size_t n;
    for (size_t c = 0; c < C; c += n) {
        n = tide_piece_length(c, C);
        const float *piece = tide_piece_read(cpu, table, from + c, n, buffer);
        if (out.dtype == TIDE_FP32) {
            memcpy((float *)out.data + at + c, piece, n * sizeof(float));
        } else {
            tide_narrow(cpu, out, at + c, piece, n);
        }
    }
}

tide_status tide_cpu_embedding_forward(tide_ops *ops, const tide_embedding_forward *call,
                                       tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats("embedding", (const tide_array[]){call->out, call->table}, 2,
                                      error));
    const size_t C = call->C;
#pragma omp parallel for num_threads(cpu->n_threads) if (call->R * C > TIDE_OPS_CPU_SERIAL)        \
    schedule(static)
    for (size_t r = 0; r < call->R; r++) { /* out[r][:] */
        copy_row(cpu, call->out, r * C, call->table, (size_t)call->tokens[r] * C, C);
    }
    return TIDE_OK;
}

/* Words v0 .. v1, channels c0 .. c1. */
typedef struct table_block {
    size_t v0, v1; /* at most BAND */
    size_t c0, c1; /* at most CHANNELS if the table is not fp32 */
} table_block;

/* sums (c1 - c0) += dout[r][c0 .. c1) */
static void add_row(const tide_ops_cpu *cpu, const tide_embedding_backward *call,
                    const table_block *block, size_t r, float *sums) {
    float buffer[TIDE_PIECE];
    size_t n;
    for (size_t c = block->c0; c < block->c1; c += n) {
        n = tide_piece_length(c, block->c1);
        const float *row = tide_piece_read(cpu, call->dout, r * call->C + c, n, buffer);
        cpu->kernels->add(sums + (c - block->c0), row, n);
    }
}

/* sums (v1 - v0, c1 - c0), `stride` elements from row to row. */
static void sum_block(const tide_ops_cpu *cpu, const tide_embedding_backward *call,
                      const table_block *block, float *sums, size_t stride) {
    size_t n_words = block->v1 - block->v0;
    for (size_t v = 0; v < n_words; v++) {
        memset(sums + v * stride, 0, (block->c1 - block->c0) * sizeof(float));
    }
    for (size_t r = 0; r < call->R; r++) {
        size_t v =
            (size_t)call->tokens[r] - block->v0; /* wraps to a huge number for a token before v0 */
        if (v < n_words) {
            add_row(cpu, call, block, r, sums + v * stride);
        }
    }
}

/* dtable[v0 .. v1)[c0 .. c1) */
static void write_block(const tide_ops_cpu *cpu, const tide_embedding_backward *call,
                        const table_block *block) {
    size_t at = block->v0 * call->C + block->c0;
    if (call->dtable.dtype == TIDE_FP32) {
        sum_block(cpu, call, block, (float *)call->dtable.data + at, call->C);
        return;
    }
    float sums[BAND * CHANNELS];
    sum_block(cpu, call, block, sums, CHANNELS);
    for (size_t v = 0; v < block->v1 - block->v0; v++) {
        tide_narrow(cpu, call->dtable, at + v * call->C, sums + v * CHANNELS,
                    block->c1 - block->c0);
    }
}

tide_status tide_cpu_embedding_backward(tide_ops *ops, const tide_embedding_backward *call,
                                        tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats("embedding", (const tide_array[]){call->dtable, call->dout},
                                      2, error));
    const size_t C = call->C;
    const size_t V = call->V;
    size_t n_channels = call->dtable.dtype == TIDE_FP32 ? C : CHANNELS; /* of a block */
    size_t n_across = (C + n_channels - 1) / n_channels;
    size_t n_blocks = (V + BAND - 1) / BAND * n_across;
#pragma omp parallel for num_threads(cpu->n_threads) if (V * C > TIDE_OPS_CPU_SERIAL)              \
    schedule(dynamic)
    for (size_t i = 0; i < n_blocks; i++) {
        size_t v0 = i / n_across * BAND;
        size_t c0 = i % n_across * n_channels;
        const table_block block = {v0, v0 + BAND < V ? v0 + BAND : V, c0,
                                   c0 + n_channels < C ? c0 + n_channels : C};
        write_block(cpu, call, &block);
    }
    return TIDE_OK;
}
