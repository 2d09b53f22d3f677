/* The loops of kernels.h. The file is compiled once per instruction set; TIDE_KERNELS is the name
 * of its table and TIDE_KERNELS_NAME the name for people. */
#include <math.h>
#include <string.h>

#include "model/ops_cpu/kernels.h"
#include "model/ops_cpu/ops_cpu_internal.h"

static void widen_bf16(float *out, const uint16_t *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = tide_bf16_to_fp32(x[i]);
    }
}

static void widen_fp16(float *out, const uint16_t *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = tide_fp16_to_fp32(x[i]);
    }
}

static void narrow_fp16(uint16_t *out, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = tide_fp32_to_fp16(x[i]);
    }
}

static void narrow_bf16(uint16_t *out, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = tide_fp32_to_bf16(x[i]);
    }
}

static void widen_int8(float *out, const int8_t *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = (float)x[i];
    }
}

static void add(float *out, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] += x[i];
    }
}

static void scale(float *x, float factor, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        x[i] *= factor;
    }
}

static double dot(const float *x, const float *y, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)y[i];
    }
    return sum;
}

static double sum_of_squares(const float *x, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    return sum;
}

static double sum(const float *x, size_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++) {
        total += (double)x[i];
    }
    return total;
}

static double squares_around(const float *x, double mean, size_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++) {
        double distance = (double)x[i] - mean;
        total += distance * distance;
    }
    return total;
}

static float row_max(const float *x, size_t n) {
    float max = -INFINITY;
#pragma omp simd reduction(max : max)
    for (size_t i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    return max;
}

static double exponentials(float *row, size_t n, float max) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        row[i] = tide_exp(row[i] - max);
        sum += (double)row[i];
    }
    return sum;
}

static void dscores(float *drow, const float *row, float delta, float factor, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        drow[i] = row[i] * (drow[i] - delta) * factor;
    }
}

static void rmsnorm_forward(float *out, const float *x, const float *weight, float rstd, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = weight[i] * (x[i] * rstd);
    }
}

static double rmsnorm_dot(const float *dout, const float *weight, const float *x, float rstd,
                          size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += (double)(dout[i] * weight[i]) * (double)(x[i] * rstd);
    }
    return sum;
}

static void rmsnorm_backward(const tide_rmsnorm_run *run, size_t n) {
    float *dx = run->dx;
    float *dweight = run->dweight;
    const float *dout = run->dout;
    const float *x = run->x;
    const float *weight = run->weight;
    float rstd = run->rstd;
    float mean = run->mean;
    bool accumulate = run->accumulate;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float normed = x[i] * rstd;
        float gradient = rstd * (dout[i] * weight[i] - normed * mean);
        dx[i] = accumulate ? dx[i] + gradient : gradient;
        dweight[i] += dout[i] * normed;
    }
}

static void layernorm_forward(float *out, const float *x, const float *weight, const float *bias,
                              float mean, float rstd, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = weight[i] * ((x[i] - mean) * rstd) + bias[i];
    }
}

static void rope(float *pairs, const float *cosines, const float *sines, float sign, size_t n_pairs,
                 size_t n_heads) {
    for (size_t head = 0; head < n_heads; head++) {
        float *x = pairs + 2 * n_pairs * head;
#pragma omp simd
        for (size_t i = 0; i < n_pairs; i++) {
            float even = x[2 * i];
            float odd = x[2 * i + 1];
            float sine = sign * sines[i];
            x[2 * i] = cosines[i] * even - sine * odd;
            x[2 * i + 1] = sine * even + cosines[i] * odd;
        }
    }
}

static void swiglu_forward(float *out, const float *gate, const float *up, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        /* gate / (1 + exp) would be shorter, but gcc then divides twice, once for the clamped case
         * of exp. */
        out[i] = gate[i] * (1 / (1 + tide_exp(-gate[i]))) * up[i];
    }
}

static void swiglu_backward(float *dgate, float *dup, const float *dout, const float *gate,
                            const float *up, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float g = gate[i];
        float d = dout[i];
        float e = tide_exp(-g);
        float s = 1 / (1 + e);
        float product = d * up[i];
        dup[i] = d * (g * s);
        dgate[i] = product * s * (1 + g * (e * s)); /* e s = 1 - s, uncancelled */
    }
}

/* Phi(-|x|) over exp(-x^2 / 2), without a branch: half of formula 7.1.26 of Abramowitz and Stegun's
 * Handbook of Mathematical Functions for erfc(|x| / sqrt(2)), which errs by at most 1.5e-7; so Phi
 * errs by 7.5e-8, little more than one rounding of a number below 1. */
static inline float tail_ratio(float x) {
    const float P = 0.3275911F * 0.70710678F;
    float magnitude = x < 0 ? -x : x;
    float t = 1 / (1 + P * magnitude);
    float p = 1.061405429F / 2;
    p = p * t - 1.453152027F / 2;
    p = p * t + 1.421413741F / 2;
    p = p * t - 0.284496736F / 2;
    p = p * t + 0.254829592F / 2;
    return p * t;
}

static void gelu_forward(float *out, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float tail = tail_ratio(x[i]) * tide_exp(-0.5F * x[i] * x[i]);
        out[i] = x[i] * (x[i] < 0 ? tail : 1 - tail);
    }
}

static void gelu_backward(float *dx, const float *dout, const float *x, size_t n) {
    const float FACTOR = 0.39894228F; /* 1 / sqrt(2 pi) */
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float e = tide_exp(-0.5F * x[i] * x[i]);
        float tail = tail_ratio(x[i]) * e;
        dx[i] = dout[i] * ((x[i] < 0 ? tail : 1 - tail) + x[i] * (FACTOR * e));
    }
}

static void adamw(float *p, float *m, float *v, const float *g, const tide_adamw_factors *factors,
                  size_t n) {
    const tide_adamw_factors f = *factors;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float mean = f.beta1 * m[i] + f.one_minus_beta1 * g[i];
        float square = f.beta2 * v[i] + f.one_minus_beta2 * (g[i] * g[i]);
        float moved = p[i] - f.step * mean / (sqrtf(square) + f.eps);
        m[i] = mean;
        v[i] = square;
        p[i] = moved - f.decay * moved;
    }
}

extern const tide_gemm_kernels TIDE_GEMM_KERNELS; /* kernels_gemm.c */
extern const tide_cpu_kernels TIDE_KERNELS;
const tide_cpu_kernels TIDE_KERNELS = {
    .name = TIDE_KERNELS_NAME,
    .gemm = &TIDE_GEMM_KERNELS,
    .widen_bf16 = widen_bf16,
    .widen_fp16 = widen_fp16,
    .narrow_bf16 = narrow_bf16,
    .narrow_fp16 = narrow_fp16,
    .widen_int8 = widen_int8,
    .add = add,
    .scale = scale,
    .dot = dot,
    .sum_of_squares = sum_of_squares,
    .sum = sum,
    .squares_around = squares_around,
    .row_max = row_max,
    .exponentials = exponentials,
    .dscores = dscores,
    .rmsnorm_forward = rmsnorm_forward,
    .rmsnorm_dot = rmsnorm_dot,
    .rmsnorm_backward = rmsnorm_backward,
    .layernorm_forward = layernorm_forward,
    .rope = rope,
    .swiglu_forward = swiglu_forward,
    .swiglu_backward = swiglu_backward,
    .gelu_forward = gelu_forward,
    .gelu_backward = gelu_backward,
    .adamw = adamw,
};
