/* kernels.h - the inner loops of the cpu device: functions on short runs of fp32 numbers, without
 * threads, types or errors. Each is compiled once per instruction set, and the best table for the
 * machine is chosen when the operators are opened.
 *
 * Kernels do not know storage types: an operator widens a piece of a bf16 or fp16 array into a
 * buffer on its stack, calls the kernel, and narrows the result (pieces.h).
 *
 * Products and sums may be fused if the instruction set supports it, and sums use as many lanes as
 * a register has: the last bits of a result may differ between two tables. Within a table the bits
 * depend only on the numbers and on n, never on the number of threads. n may be 0. A run that is
 * written may be identical to a run that is read, but must not overlap one partly. */
#ifndef TIDE_MODEL_OPS_CPU_KERNELS_H
#define TIDE_MODEL_OPS_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* The operands of one run of RMSNorm's backward; all of n elements. */
typedef struct tide_rmsnorm_run {
    float *dx;           /* written, or added to */
    float *dweight;      /* added to */
    const float *dout;   /* gradient of the output */
    const float *x;      /* input */
    const float *weight; /* of the channels of this run */
    float rstd;          /* 1 / rms of the whole row */
    float mean;          /* over the whole row, of dout * weight * x * rstd */
    bool accumulate;     /* dx += instead of dx = */
} tide_rmsnorm_run;

/* The factors of one AdamW step. */
typedef struct tide_adamw_factors {
    float beta1, one_minus_beta1; /* of m */
    float beta2, one_minus_beta2; /* of v */
    float step;                   /* lr with both bias corrections */
    float eps;                    /* added to the uncorrected sqrt(v) */
    float decay;                  /* lr weight_decay */
} tide_adamw_factors;

typedef struct tide_cpu_kernels {
    const char *name;                     /* of the instruction set: "AVX-512", "AVX2", "generic" */
    const struct tide_gemm_kernels *gemm; /* static; matrix products, see gemm.h */

    /* out (n) = x (n), bf16 or fp16 to fp32; exact. */
    void (*widen_bf16)(float *out, const uint16_t *x, size_t n);
    void (*widen_fp16)(float *out, const uint16_t *x, size_t n);
    /* out (n) = x (n), fp32 to bf16 or fp16, to nearest, ties to even; NaN stays NaN. */
    void (*narrow_bf16)(uint16_t *out, const float *x, size_t n);
    void (*narrow_fp16)(uint16_t *out, const float *x, size_t n);

    /* out (n) = x (n), int8 to fp32; exact. */
    void (*widen_int8)(float *out, const int8_t *x, size_t n);

    /* out (n) += x (n) */
    void (*add)(float *out, const float *x, size_t n);
    /* x (n) *= factor */
    void (*scale)(float *x, float factor, size_t n);
    /* Sums in double. */
    double (*dot)(const float *x, const float *y, size_t n);
    double (*sum_of_squares)(const float *x, size_t n);
    double (*sum)(const float *x, size_t n);
    /* The sum of (x - mean)^2. */
    double (*squares_around)(const float *x, double mean, size_t n);

    /* The largest of x (n); -infinity if n is 0. NaN is ignored. */
    float (*row_max)(const float *x, size_t n);
    /* row (n) = exp(row - max); returns the sum in double. */
    double (*exponentials)(float *row, size_t n, float max);
    /* drow (n) = row (n) * (drow - delta) * factor: gradient of probabilities in, of scores out. */
    void (*dscores)(float *drow, const float *row, float delta, float factor, size_t n);

    /* out (n) = x (n) * rstd * weight (n) */
    void (*rmsnorm_forward)(float *out, const float *x, const float *weight, float rstd, size_t n);
    /* The sum of (dout * weight) * (x * rstd) in double. */
    double (*rmsnorm_dot)(const float *dout, const float *weight, const float *x, float rstd,
                          size_t n);
    /* dx (= or +=) rstd * (dout * weight - x * rstd * mean); dweight += dout * x * rstd */
    void (*rmsnorm_backward)(const tide_rmsnorm_run *run, size_t n);

    /* out (n) = (x (n) - mean) * rstd * weight (n) + bias (n) */
    void (*layernorm_forward)(float *out, const float *x, const float *weight, const float *bias,
                              float mean, float rstd, size_t n);

    /* Each of n_heads heads of n_pairs pairs (even, odd), one after another in `pairs`: rotates
     * them by the angles whose cosine and sine are given per pair; sign -1 rotates backwards. */
    void (*rope)(float *pairs, const float *cosines, const float *sines, float sign, size_t n_pairs,
                 size_t n_heads);

    /* out (n) = silu(gate) * up */
    void (*swiglu_forward)(float *out, const float *gate, const float *up, size_t n);
    /* dup (n) = dout * silu(gate); dgate (n) = dout * up * silu'(gate) */
    void (*swiglu_backward)(float *dgate, float *dup, const float *dout, const float *gate,
                            const float *up, size_t n);

    /* out (n) = x Phi(x); dx (n) = dout (Phi(x) + x phi(x)) */
    void (*gelu_forward)(float *out, const float *x, size_t n);
    void (*gelu_backward)(float *dx, const float *dout, const float *x, size_t n);

    /* One step on a parameter p with gradient g and moments m and v; all of n elements. */
    void (*adamw)(float *p, float *m, float *v, const float *g, const tide_adamw_factors *factors,
                  size_t n);
} tide_cpu_kernels;

/* The tables that this machine can run, best first; the last is "generic". NULL at the end. */
const tide_cpu_kernels *const *tide_cpu_kernels_available(void);

/* The best, or the one that the environment variable TIDEMARK_CPU_KERNELS names ("avx512", "avx2",
 * "generic"), for comparisons. TIDE_DEVICE_ABSENT if this machine lacks that instruction set. */
TIDE_NODISCARD tide_status tide_cpu_kernels_choose(const tide_cpu_kernels **ret_kernels,
                                                   tide_error *error);

#endif
