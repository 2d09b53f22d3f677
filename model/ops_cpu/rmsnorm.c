/* rstd (R) = 1 / sqrt(mean_c(x^2) + 1e-5); out (R, C) = x (R, C) * rstd * weight (C).
 *
 * Backward, with n = x * rstd and dn = dout * weight: dx (= or +=) rstd * (dn - n mean_c(dn * n));
 * dweight (C) = sum_r dout * n. Row sums are computed in double, dweight is one fp32 partial sum
 * per group of rows; the groups are added in double, in their order, and rounded once, so the
 * result does not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "model/ops_cpu/pieces.h"

static const double EPSILON = 1e-5;

static float rstd_of_row(const tide_ops_cpu *cpu, tide_array x, size_t begin, size_t C) {
    float buffer[TIDE_PIECE];
    double sum = 0;
    size_t n;
    for (size_t at = begin; at < begin + C; at += n) {
        n = tide_piece_length(at, begin + C);
        sum += cpu->kernels->sum_of_squares(tide_piece_read(cpu, x, at, n, buffer), n);
    }
    return (float)(1 / sqrt(sum / (double)C + EPSILON));
}

/* out[r][:] */
static void forward_row(const tide_ops_cpu *cpu, const tide_rmsnorm_forward *call, size_t r) {
    float buffers[3][TIDE_PIECE];
    size_t begin = r * call->C;
    float rstd = rstd_of_row(cpu, call->x, begin, call->C);
    size_t n;
    for (size_t c = 0; c < call->C; c += n) {
        n = tide_piece_length(c, call->C);
        float *out = tide_piece_write(call->out, begin + c, buffers[0]);
        const float *x = tide_piece_read(cpu, call->x, begin + c, n, buffers[1]);
        const float *weight = tide_piece_read(cpu, call->weight, c, n, buffers[2]);
        cpu->kernels->rmsnorm_forward(out, x, weight, rstd, n);
        tide_piece_store(cpu, call->out, begin + c, n, out);
    }
    if (call->rstd != NULL) {
        call->rstd[r] = rstd;
    }
}

tide_status tide_cpu_rmsnorm_forward(tide_ops *ops, const tide_rmsnorm_forward *call,
                                     tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats(
        "rmsnorm", (const tide_array[]){call->out, call->x, call->weight}, 3, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (call->R * call->C > TIDE_OPS_CPU_SERIAL)  \
    schedule(static)
    for (size_t r = 0; r < call->R; r++) { /* out[r][:], rstd[r] */
        forward_row(cpu, call, r);
    }
    return TIDE_OK;
}

/* mean_c(dn * n) of row r. */
static float mean_of_row(const tide_ops_cpu *cpu, const tide_rmsnorm_backward *call, size_t r) {
    float buffers[3][TIDE_PIECE];
    size_t begin = r * call->C;
    double sum = 0;
    size_t n;
    for (size_t c = 0; c < call->C; c += n) {
        n = tide_piece_length(c, call->C);
        const float *dout = tide_piece_read(cpu, call->dout, begin + c, n, buffers[0]);
        const float *x = tide_piece_read(cpu, call->x, begin + c, n, buffers[1]);
        const float *weight = tide_piece_read(cpu, call->weight, c, n, buffers[2]);
        sum += cpu->kernels->rmsnorm_dot(dout, weight, x, call->rstd[r], n);
    }
    return (float)(sum / (double)call->C);
}

/* dx[r][:], and dweight += row r's part. */
static void backward_row(const tide_ops_cpu *cpu, const tide_rmsnorm_backward *call, size_t r,
                         float *dweight) {
    float buffers[4][TIDE_PIECE];
    size_t begin = r * call->C;
    tide_rmsnorm_run run = {
        .rstd = call->rstd[r], .mean = mean_of_row(cpu, call, r), .accumulate = call->accumulate};
    size_t n;
    for (size_t c = 0; c < call->C; c += n) {
        size_t at = begin + c;
        n = tide_piece_length(c, call->C);
        run.dx = call->accumulate ? tide_piece_update(cpu, call->dx, at, n, buffers[0])
                                  : tide_piece_write(call->dx, at, buffers[0]);
        run.dweight = dweight + c;
        run.dout = tide_piece_read(cpu, call->dout, at, n, buffers[1]);
        run.x = tide_piece_read(cpu, call->x, at, n, buffers[2]);
        run.weight = tide_piece_read(cpu, call->weight, c, n, buffers[3]);
        cpu->kernels->rmsnorm_backward(&run, n);
        tide_piece_store(cpu, call->dx, at, n, run.dx);
    }
}

/* Channels of one piece of dweight: whole cache lines, so two threads never write to the same
 * line. */
enum { CHANNELS = 128 };

/* dweight[c0 .. c1) = sum of the groups' partial sums. */
static void sum_groups(const tide_ops_cpu *cpu, const tide_rmsnorm_backward *call, size_t n_groups,
                       size_t c0, size_t c1) {
    double sums[CHANNELS] = {0};
    float buffer[CHANNELS];
    size_t n = c1 - c0;
    for (size_t group = 0; group < n_groups; group++) {
        const float *partial = call->scratch + group * call->C + c0;
#pragma omp simd
        for (size_t c = 0; c < n; c++) {
            sums[c] += (double)partial[c];
        }
    }
    float *dweight = tide_piece_write(call->dweight, c0, buffer);
    for (size_t c = 0; c < n; c++) {
        dweight[c] = (float)sums[c];
    }
    tide_piece_store(cpu, call->dweight, c0, n, dweight);
}

tide_status tide_cpu_rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                      tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats(
        "rmsnorm", (const tide_array[]){call->dx, call->dweight, call->dout, call->x, call->weight},
        5, error));
    size_t C = call->C;
    size_t n_groups = tide_ops_rmsnorm_scratch_elements(call->R, 1);
    size_t n_rows = (call->R + n_groups - 1) / n_groups; /* of a group */
    size_t n_pieces = (C + CHANNELS - 1) / CHANNELS;
#pragma omp parallel for num_threads(cpu->n_threads) if (call->R * C > TIDE_OPS_CPU_SERIAL)        \
    schedule(static)
    for (size_t group = 0; group < n_groups; group++) { /* dx[r0 .. r1)[:], scratch[group][:] */
        float *partial = call->scratch + group * C;
        size_t r1 = (group + 1) * n_rows < call->R ? (group + 1) * n_rows : call->R;
        memset(partial, 0, C * sizeof(float));
        for (size_t r = group * n_rows; r < r1; r++) {
            backward_row(cpu, call, r, partial);
        }
    }
#pragma omp parallel for num_threads(cpu->n_threads) if (n_groups * C > TIDE_OPS_CPU_SERIAL)       \
    schedule(static)
    for (size_t i = 0; i < n_pieces; i++) { /* dweight[c0 .. c1) */
        size_t c1 = (i + 1) * CHANNELS;
        sum_groups(cpu, call, n_groups, i * CHANNELS, c1 < C ? c1 : C);
    }
    return TIDE_OK;
}
