/* mean (R) = mean_c(x); rstd (R) = 1 / sqrt(mean_c((x - mean)^2) + 1e-5); out (R, C) =
 * (x (R, C) - mean) * rstd * weight (C) + bias (C).
 *
 * Row sums are computed in double, and the squares around the mean in a second pass: if the mean is
 * large compared with the spread, mean(x^2) - mean(x)^2 would lose all digits. */
#include <math.h>

#include "model/ops_cpu/pieces.h"

static const double EPSILON = 1e-5;

/* Computes the mean of the row that begins there, and the reciprocal of its standard deviation. */
static void measure_row(const tide_ops_cpu *cpu, tide_array x, size_t begin, size_t C,
                        double *ret_mean, double *ret_rstd) {
    float buffer[TIDE_PIECE];
    double sum = 0;
    double squares = 0;
    size_t n;
    for (size_t at = begin; at < begin + C; at += n) {
        n = tide_piece_length(at, begin + C);
        sum += cpu->kernels->sum(tide_piece_read(cpu, x, at, n, buffer), n);
    }
    double mean = sum / (double)C;
    for (size_t at = begin; at < begin + C; at += n) {
        n = tide_piece_length(at, begin + C);
        squares += cpu->kernels->squares_around(tide_piece_read(cpu, x, at, n, buffer), mean, n);
    }
    *ret_mean = mean;
    *ret_rstd = 1 / sqrt(squares / (double)C + EPSILON);
}

/* out[r][:] */
static void forward_row(const tide_ops_cpu *cpu, const tide_layernorm_forward *call, size_t r) {
    float buffers[4][TIDE_PIECE];
    size_t begin = r * call->C;
    double mean = 0;
    double rstd = 0;
    size_t n;
    measure_row(cpu, call->x, begin, call->C, &mean, &rstd);
    for (size_t c = 0; c < call->C; c += n) {
        n = tide_piece_length(c, call->C);
        float *out = tide_piece_write(call->out, begin + c, buffers[0]);
        const float *x = tide_piece_read(cpu, call->x, begin + c, n, buffers[1]);
        const float *weight = tide_piece_read(cpu, call->weight, c, n, buffers[2]);
        const float *bias = tide_piece_read(cpu, call->bias, c, n, buffers[3]);
        cpu->kernels->layernorm_forward(out, x, weight, bias, (float)mean, (float)rstd, n);
        tide_piece_store(cpu, call->out, begin + c, n, out);
    }
}

tide_status tide_cpu_layernorm_forward(tide_ops *ops, const tide_layernorm_forward *call,
                                       tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats(
        "layernorm", (const tide_array[]){call->out, call->x, call->weight, call->bias}, 4, error));
#pragma omp parallel for num_threads(cpu->n_threads) if (call->R * call->C > TIDE_OPS_CPU_SERIAL)  \
    schedule(static)
    for (size_t r = 0; r < call->R; r++) { /* out[r][:] */
        forward_row(cpu, call, r);
    }
    return TIDE_OK;
}
