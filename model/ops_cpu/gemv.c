/* out (A, m) = weight (matrix chosen (A), m, k) x (k) + bias (matrix chosen (A), m); weights fp32,
 * bf16, fp16 or int8, cast to fp32 at their use. A row's products are summed in double, in the
 * order of its pieces, and its bias is added to the sum. */
#include "model/ops_cpu/pieces.h"

/* Rows that are multiplied together, to widen x to fp32 only once for all of them. */
enum { ROWS = 16 };

/* weight[at .. at + n) as fp32 numbers. */
static const float *read_weights(const tide_ops_cpu *cpu, tide_array weight, size_t at, size_t n,
                                 float *buffer) {
    if (weight.dtype == TIDE_INT8) {
        cpu->kernels->widen_int8(buffer, (const int8_t *)weight.data + at, n);
        return buffer;
    }
    return tide_piece_read(cpu, weight, at, n, buffer);
}

/* sums[0 .. n) = bias[at .. at + n) */
static void read_bias(const tide_ops_cpu *cpu, tide_array bias, size_t at, size_t n,
                      double sums[ROWS]) {
    float buffer[ROWS];
    const float *from = tide_piece_read(cpu, bias, at, n, buffer);
    for (size_t r = 0; r < n; r++) {
        sums[r] = (double)from[r];
    }
}

/* out[a][row .. row + n_rows) */
static void multiply_rows(const tide_ops_cpu *cpu, const tide_gemv *call, size_t a, size_t row,
                          size_t n_rows) {
    float buffers[2][TIDE_PIECE];
    double sums[ROWS] = {0};
    float *out = tide_piece_write(call->out, a * call->m + row, buffers[0]);
    size_t matrix = call->chosen != NULL ? (size_t)call->chosen[a] : a;
    size_t begin = (matrix * call->m + row) * call->k;
    size_t n;
    if (call->bias.data != NULL) {
        read_bias(cpu, call->bias, matrix * call->m + row, n_rows, sums);
    }
    for (size_t at = 0; at < call->k; at += n) {
        n = tide_piece_length(at, call->k);
        const float *x = tide_piece_read(cpu, call->x, at, n, buffers[0]);
        for (size_t r = 0; r < n_rows; r++) {
            size_t first = begin + r * call->k + at;
            sums[r] +=
                cpu->kernels->dot(read_weights(cpu, call->weight, first, n, buffers[1]), x, n);
        }
    }
    for (size_t r = 0; r < n_rows; r++) {
        out[r] = (float)sums[r];
    }
    tide_piece_store(cpu, call->out, a * call->m + row, n_rows, out);
}

tide_status tide_cpu_gemv(tide_ops *ops, const tide_gemv *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    size_t n_blocks = (call->m + ROWS - 1) / ROWS; /* of a matrix */
    TIDE_TRY(tide_ops_cpu_need_floats("gemv", (const tide_array[]){call->out, call->x}, 2, error));
    if (call->weight.dtype != TIDE_INT8) {
        TIDE_TRY(tide_ops_cpu_need_floats("gemv's weight", &call->weight, 1, error));
    }
    if (call->bias.data != NULL) {
        TIDE_TRY(tide_ops_cpu_need_floats("gemv's bias", &call->bias, 1, error));
    }
#pragma omp parallel for num_threads(cpu->n_threads) if (call->m * call->k > TIDE_OPS_CPU_SERIAL)  \
    schedule(static)
    for (size_t i = 0; i < call->n_chosen * n_blocks; i++) { /* out[a][row .. row + ROWS) */
        size_t row = i % n_blocks * ROWS;
        multiply_rows(cpu, call, i / n_blocks, row, call->m - row < ROWS ? call->m - row : ROWS);
    }
    return TIDE_OK;
}
