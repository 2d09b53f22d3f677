/* Causal attention with its probabilities in memory. Per sequence b and head h, with q, k, v, out
 * (T, D) at a row distance of H D, and probs (T, T):
 *
 *   probs = softmax over s <= t of q k^T / sqrt(D), 0 for s > t;  out = probs v
 *
 *   dv = probs^T dout;  dprobs = dout v^T
 *   dscores = probs * (dprobs - sum_s dprobs * probs) / sqrt(D), in the place of dprobs
 *   dq = dscores k;  dk = dscores^T q */
#include <math.h>

#include "model/ops_cpu/ops_cpu_internal.h"

/* Row t of probs in place: scaled scores in, probabilities out. */
static void softmax_row(float *row, size_t t, size_t T) {
    float max = row[0];
    for (size_t s = 1; s <= t; s++) {
        max = row[s] > max ? row[s] : max;
    }
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t s = 0; s <= t; s++) {
        row[s] = tide_exp(row[s] - max);
        sum += (double)row[s];
    }
    float scale = (float)(1 / sum);
    for (size_t s = 0; s <= t; s++) {
        row[s] *= scale;
    }
    for (size_t s = t + 1; s < T; s++) {
        row[s] = 0;
    }
}

static void forward_head(const tide_ops_cpu *cpu, const tide_attention_forward *call, size_t head) {
    size_t T = call->T;
    size_t D = call->D;
    size_t C = call->H * D;
    size_t at = head / call->H * T * C + head % call->H * D;
    float *probs = (float *)call->probs.data + head * T * T;
    const float *q = (const float *)call->q.data + at;
    const float *k = (const float *)call->k.data + at;
    const float *v = (const float *)call->v.data + at;
    float *out = (float *)call->out.data + at;
    float scale = (float)(1 / sqrt((double)D));
    tide_blas_gemm(&cpu->blas,
                   &(const tide_gemm){TIDE_MATMUL_NT, T, T, D, scale, q, C, k, C, 0, probs, T});
    for (size_t t = 0; t < T; t++) {
        softmax_row(probs + t * T, t, T);
    }
    tide_blas_gemm(&cpu->blas,
                   &(const tide_gemm){TIDE_MATMUL_NN, T, D, T, 1, probs, T, v, C, 0, out, C});
}

void tide_cpu_naive_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call) {
#pragma omp parallel num_threads(cpu->n_threads)
    {
        tide_blas_enter();
#pragma omp for schedule(dynamic)
        for (size_t head = 0; head < call->B * call->H; head++) { /* probs[b][h], out[b][:][h] */
            forward_head(cpu, call, head);
        }
    }
}

/* Row t of dprobs in place: gradient of probabilities in, of unscaled scores out. */
static void softmax_backward_row(float *drow, const float *row, size_t t, size_t T, float scale) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t s = 0; s <= t; s++) {
        sum += (double)drow[s] * (double)row[s];
    }
    float mean = (float)sum;
    for (size_t s = 0; s <= t; s++) {
        drow[s] = row[s] * (drow[s] - mean) * scale;
    }
    for (size_t s = t + 1; s < T; s++) {
        drow[s] = 0;
    }
}

static void backward_head(const tide_ops_cpu *cpu, const tide_attention_backward *call,
                          size_t head) {
    size_t T = call->T;
    size_t D = call->D;
    size_t C = call->H * D;
    size_t at = head / call->H * T * C + head % call->H * D;
    const float *probs = (const float *)call->probs.data + head * T * T;
    float *dprobs = (float *)call->dprobs.data + head * T * T;
    const float *dout = (const float *)call->dout.data + at;
    const float *q = (const float *)call->q.data + at;
    const float *k = (const float *)call->k.data + at;
    const float *v = (const float *)call->v.data + at;
    float *dq = (float *)call->dq.data + at;
    float *dk = (float *)call->dk.data + at;
    float *dv = (float *)call->dv.data + at;
    tide_blas_gemm(&cpu->blas,
                   &(const tide_gemm){TIDE_MATMUL_TN, T, D, T, 1, probs, T, dout, C, 0, dv, C});
    tide_blas_gemm(&cpu->blas,
                   &(const tide_gemm){TIDE_MATMUL_NT, T, T, D, 1, dout, C, v, C, 0, dprobs, T});
    float scale = (float)(1 / sqrt((double)D));
    for (size_t t = 0; t < T; t++) {
        softmax_backward_row(dprobs + t * T, probs + t * T, t, T, scale);
    }
    tide_blas_gemm(&cpu->blas,
                   &(const tide_gemm){TIDE_MATMUL_NN, T, D, T, 1, dprobs, T, k, C, 0, dq, C});
    tide_blas_gemm(&cpu->blas,
                   &(const tide_gemm){TIDE_MATMUL_TN, T, D, T, 1, dprobs, T, q, C, 0, dk, C});
}

void tide_cpu_naive_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
#pragma omp parallel num_threads(cpu->n_threads)
    {
        tide_blas_enter();
#pragma omp for schedule(dynamic)
        for (size_t head = 0; head < call->B * call->H; head++) { /* d*[b][:][h] */
            backward_head(cpu, call, head);
        }
    }
}
