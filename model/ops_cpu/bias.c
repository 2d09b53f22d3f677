/* out (R, C) = bias (C) in every row.
 *
 * Backward: dbias (C) = the sum over the rows of dout (R, C), computed in double. */
#include <string.h>

#include "model/ops_cpu/pieces.h"

/* Channels that a thread sums at a time: few, so narrow layers have work for all threads. */
enum { CHANNELS = 64 };

/* out[r][:] */
static void forward_row(const tide_ops_cpu *cpu, const tide_bias_forward *call, size_t r) {
    float buffers[2][TIDE_PIECE];
    size_t n;
    for (size_t c = 0; c < call->C; c += n) {
        n = tide_piece_length(c, call->C);
        float *out = tide_piece_write(call->out, r * call->C + c, buffers[0]);
        memcpy(out, tide_piece_read(cpu, call->bias, c, n, buffers[1]), n * sizeof(*out));
        tide_piece_store(cpu, call->out, r * call->C + c, n, out);
    }
}

tide_status tide_cpu_bias_forward(tide_ops *ops, const tide_bias_forward *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(
        tide_ops_cpu_need_floats("bias", (const tide_array[]){call->out, call->bias}, 2, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (call->R * call->C > TIDE_OPS_CPU_SERIAL)  \
    schedule(static)
    for (size_t r = 0; r < call->R; r++) { /* out[r][:] */
        forward_row(cpu, call, r);
    }
    return TIDE_OK;
}

/* dbias[c .. c + n) */
static void sum_channels(const tide_ops_cpu *cpu, const tide_bias_backward *call, size_t c,
                         size_t n) {
    float buffer[CHANNELS];
    double sums[CHANNELS] = {0};
    for (size_t r = 0; r < call->R; r++) {
        const float *dout = tide_piece_read(cpu, call->dout, r * call->C + c, n, buffer);
        for (size_t i = 0; i < n; i++) {
            sums[i] += (double)dout[i];
        }
    }
    float *dbias = tide_piece_write(call->dbias, c, buffer);
    for (size_t i = 0; i < n; i++) {
        dbias[i] = (float)sums[i];
    }
    tide_piece_store(cpu, call->dbias, c, n, dbias);
}

tide_status tide_cpu_bias_backward(tide_ops *ops, const tide_bias_backward *call,
                                   tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const size_t n_blocks = (call->C + CHANNELS - 1) / CHANNELS;
    TIDE_TRY(
        tide_ops_cpu_need_floats("bias", (const tide_array[]){call->dbias, call->dout}, 2, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (call->R * call->C > TIDE_OPS_CPU_SERIAL)  \
    schedule(static)
    for (size_t i = 0; i < n_blocks; i++) { /* dbias[c .. c + CHANNELS) */
        const size_t c = i * CHANNELS;
        sum_channels(cpu, call, c, call->C - c < CHANNELS ? call->C - c : CHANNELS);
    }
    return TIDE_OK;
}
