/* rstd (R) = 1 / sqrt(mean_c(x^2) + 1e-5); out (R, C) = x (R, C) * rstd * weight (C).
 *
 * Backward, with n = x * rstd and dn = dout * weight: dx (= or +=) rstd * (dn - n mean_c(dn * n));
 * dweight (C) = sum_r dout * n. Row sums are taken in double, dweight as one fp32 partial sum per
 * group of rows, added up in the order of groups. */
#include <math.h>
#include <string.h>

#include "model/ops_cpu/ops_cpu_internal.h"

static const double EPSILON = 1e-5;

static double sum_of_squares(const float *x, size_t C) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < C; c++) {
        sum += (double)x[c] * (double)x[c];
    }
    return sum;
}

tide_status tide_cpu_rmsnorm_forward(tide_ops *ops, const tide_rmsnorm_forward *call,
                                     tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32(
        "rmsnorm", (const tide_array[]){call->out, call->x, call->weight}, 3, error));
    size_t C = call->C;
    const float *weight = call->weight.data;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t r = 0; r < call->R; r++) { /* out[r][:] */
        const float *x = (const float *)call->x.data + r * C;
        float *out = (float *)call->out.data + r * C;
        float rstd = (float)(1 / sqrt(sum_of_squares(x, C) / (double)C + EPSILON));
#pragma omp simd
        for (size_t c = 0; c < C; c++) {
            out[c] = weight[c] * (x[c] * rstd);
        }
        if (call->rstd != NULL) {
            call->rstd[r] = rstd;
        }
    }
    return TIDE_OK;
}

/* dx[r][:], and dweight += row r's part. */
static void backward_row(const tide_rmsnorm_backward *call, size_t r, float *dweight) {
    size_t C = call->C;
    const float *weight = call->weight.data;
    const float *x = (const float *)call->x.data + r * C;
    const float *dout = (const float *)call->dout.data + r * C;
    float *dx = (float *)call->dx.data + r * C;
    float rstd = call->rstd[r];
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t c = 0; c < C; c++) {
        sum += (double)(dout[c] * weight[c]) * (double)(x[c] * rstd);
    }
    float mean = (float)(sum / (double)C);
    bool accumulate = call->accumulate;
#pragma omp simd
    for (size_t c = 0; c < C; c++) {
        float n = x[c] * rstd;
        float gradient = rstd * (dout[c] * weight[c] - n * mean);
        dx[c] = accumulate ? dx[c] + gradient : gradient;
        dweight[c] += dout[c] * n;
    }
}

tide_status tide_cpu_rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                      tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32(
        "rmsnorm", (const tide_array[]){call->dx, call->dweight, call->dout, call->x, call->weight},
        5, error));
    size_t C = call->C;
    size_t n_groups = tide_ops_rmsnorm_scratch_elements(call->R, 1);
    size_t n_rows = (call->R + n_groups - 1) / n_groups; /* of a group */
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t group = 0; group < n_groups; group++) { /* dx[r0 .. r1)[:], scratch[group][:] */
        float *partial = call->scratch + group * C;
        size_t r1 = (group + 1) * n_rows < call->R ? (group + 1) * n_rows : call->R;
        memset(partial, 0, C * sizeof(float));
        for (size_t r = group * n_rows; r < r1; r++) {
            backward_row(call, r, partial);
        }
    }
    float *dweight = call->dweight.data;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t c = 0; c < C; c++) { /* dweight[c] */
        double sum = 0;
        for (size_t group = 0; group < n_groups; group++) {
            sum += (double)call->scratch[group * C + c];
        }
        dweight[c] = (float)sum;
    }
    return TIDE_OK;
}
