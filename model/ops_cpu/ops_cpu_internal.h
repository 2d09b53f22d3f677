/* ops_cpu_internal.h - what the operators of the cpu device share: their state, and small functions
 * on numbers.
 *
 * Every operator is the readable reference of its contract in ops.h. Arrays are fp32 or bf16, each
 * for itself; arithmetic is fp32, sums over rows are taken in double, and what is stored as bf16 is
 * rounded once (pieces.h). bf16 is emulated: its bytes are real, its times are not representative.
 * Loops are parallel over chunks that write different elements and whose number and order depend on
 * shapes alone, so the results are the same, to the bit, for any number of threads.
 */
#ifndef TIDE_MODEL_OPS_CPU_OPS_CPU_INTERNAL_H
#define TIDE_MODEL_OPS_CPU_OPS_CPU_INTERNAL_H

#include <stdint.h>
#include <string.h>

#include "common/hostmem.h"
#include "model/bf16.h"
#include "model/ops.h"
#include "model/ops_cpu/gemm.h"
#include "model/ops_cpu/kernels.h"

typedef struct tide_ops_cpu {
    tide_ops ops;                    /* first member */
    const tide_cpu_kernels *kernels; /* static; the inner loops for this machine */
    const tide_gemm_kernels *gemm;   /* static; matmul's and attention's */
    float *scratch;                  /* owned; the three below, in matmul alone */
    float *packed_a;                 /* panels of TIDE_OPS_CPU_GEMM_M rows by TIDE_GEMM_K */
    float *packed_b;                 /* panels of TIDE_OPS_CPU_GEMM_N columns by TIDE_GEMM_K */
    float *sums;                     /* (TIDE_OPS_CPU_GEMM_M, TIDE_OPS_CPU_GEMM_N) */
    int n_threads;                   /* of every parallel loop, at least 1 */
    char description[160];           /* "AVX-512 kernels, 2 threads" */
} tide_ops_cpu;

/* Rows and columns of a block of matmul's out: large, since each block copies its rows of a and its
 * columns of b anew; the panels of b stay in a shared cache. */
enum { TIDE_OPS_CPU_GEMM_M = 1024, TIDE_OPS_CPU_GEMM_N = 2048 };

static inline const tide_ops_cpu *tide_ops_cpu_of(const tide_ops *ops) {
    return (const tide_ops_cpu *)(const void *)ops;
}

/* TIDE_UNSUPPORTED, naming the operator and the array, unless every array is fp32 or bf16. */
TIDE_NODISCARD tide_status tide_ops_cpu_need_floats(const char *operator_name,
                                                    const tide_array *arrays, size_t n_arrays,
                                                    tide_error *error);

/* Elements of one chunk of an elementwise loop: large enough to be worth a thread's wake-up. */
enum { TIDE_OPS_CPU_CHUNK = 1 << 14 };

/* Up to this many elements an operator stays on the caller's thread: a parallel region took 3 us to
 * 5 us on two cores, in which one thread adds 16000 numbers to others in the cache. */
enum { TIDE_OPS_CPU_SERIAL = TIDE_OPS_CPU_CHUNK };

static inline size_t tide_ops_cpu_n_chunks(size_t n) {
    return (n + TIDE_OPS_CPU_CHUNK - 1) / TIDE_OPS_CPU_CHUNK;
}

/* One past the last element of a chunk. */
static inline size_t tide_ops_cpu_chunk_end(size_t chunk, size_t n) {
    size_t end = (chunk + 1) * TIDE_OPS_CPU_CHUNK;
    return end < n ? end : n;
}

/* e^x without a branch, so that loops over it are vectorised; 2 units in the last place. x is
 * clamped to [-87, 88], where e^x is a normal fp32 number; NaN stays NaN. x = n ln 2 + r with |r|
 * <= 0.35; the Taylor polynomial of degree 7 leaves r^8 / 8! < 6e-9. */
static inline float tide_exp(float x) {
    const float ROUNDER = 12582912.0F; /* 1.5 * 2^23: adding it rounds to an integer */
    x = x < -87.0F ? -87.0F : x;
    x = x > 88.0F ? 88.0F : x;
    float shifted = x * 1.44269504F + ROUNDER;
    float n = shifted - ROUNDER;
    /* ln 2 in two parts; the first has 9 bits, so n times it is exact. */
    float r = x - n * 0.693359375F;
    r = r + n * 2.12194440e-4F;
    float p = 1.0F / 5040;
    p = p * r + 1.0F / 720;
    p = p * r + 1.0F / 120;
    p = p * r + 1.0F / 24;
    p = p * r + 1.0F / 6;
    p = p * r + 0.5F;
    p = (p * r) * r + r + 1.0F;
    /* The low bits of `shifted` hold n: moved into the exponent they are 2^n. */
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof(bits));
    bits = (bits << 23) + UINT32_C(0x3F800000);
    float scale;
    memcpy(&scale, &bits, sizeof(scale));
    return p * scale;
}

/* The operators; contracts in ops.h. */
tide_status tide_cpu_embedding_forward(tide_ops *ops, tide_array out, tide_array table,
                                       const int32_t *tokens, size_t R, size_t C,
                                       tide_error *error);
tide_status tide_cpu_embedding_backward(tide_ops *ops, tide_array dtable, tide_array dout,
                                        const int32_t *tokens, size_t R, size_t C, size_t V,
                                        tide_error *error);
tide_status tide_cpu_rmsnorm_forward(tide_ops *ops, const tide_rmsnorm_forward *call,
                                     tide_error *error);
tide_status tide_cpu_rmsnorm_backward(tide_ops *ops, const tide_rmsnorm_backward *call,
                                      tide_error *error);
tide_status tide_cpu_matmul(tide_ops *ops, const tide_matmul *call, tide_error *error);
tide_status tide_cpu_rope(tide_ops *ops, tide_array x, const float *table, size_t B, size_t T,
                          size_t H, size_t D, bool inverse, tide_error *error);
tide_status tide_cpu_attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                       tide_error *error);
tide_status tide_cpu_attention_backward(tide_ops *ops, const tide_attention_backward *call,
                                        tide_error *error);
tide_status tide_cpu_swiglu_forward(tide_ops *ops, tide_array out, tide_array gate, tide_array up,
                                    size_t n, tide_error *error);
tide_status tide_cpu_swiglu_backward(tide_ops *ops, tide_array dgate, tide_array dup,
                                     tide_array dout, tide_array gate, tide_array up, size_t n,
                                     tide_error *error);
tide_status tide_cpu_gelu_forward(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                  tide_error *error);
tide_status tide_cpu_gelu_backward(tide_ops *ops, tide_array dx, tide_array dout, tide_array x,
                                   size_t n, tide_error *error);
tide_status tide_cpu_layernorm_forward(tide_ops *ops, const tide_layernorm_forward *call,
                                       tide_error *error);
tide_status tide_cpu_gemv(tide_ops *ops, const tide_gemv *call, tide_error *error);
tide_status tide_cpu_residual_add(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                  tide_error *error);
tide_status tide_cpu_cross_entropy(tide_ops *ops, const tide_cross_entropy *call,
                                   tide_error *error);
tide_status tide_cpu_cast(tide_ops *ops, tide_array out, tide_array x, size_t n, tide_error *error);
tide_status tide_cpu_fill(tide_ops *ops, tide_array out, double value, size_t n, tide_error *error);
tide_status tide_cpu_fill_normal(tide_ops *ops, tide_array out, double sigma, tide_random random,
                                 size_t n, tide_error *error);
tide_status tide_cpu_fill_tokens(tide_ops *ops, int32_t *out, size_t bound, tide_random random,
                                 size_t n, tide_error *error);
tide_status tide_cpu_fill_rope(tide_ops *ops, float *table, size_t T, size_t D, double theta,
                               tide_error *error);
tide_status tide_cpu_global_norm(tide_ops *ops, const tide_parameter_arrays *parameters,
                                 size_t n_parameters, float *scratch, float *norm,
                                 tide_error *error);
tide_status tide_cpu_clip(tide_ops *ops, const tide_parameter_arrays *parameters,
                          size_t n_parameters, const float *norm, double max_norm,
                          tide_error *error);
tide_status tide_cpu_adamw(tide_ops *ops, const tide_adamw *adamw,
                           const tide_parameter_arrays *parameters, size_t n_parameters,
                           tide_error *error);

/* attention_flash.c, attention_naive.c: the two kinds; arrays are checked by the caller. */
void tide_cpu_flash_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call);
void tide_cpu_flash_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call);
void tide_cpu_naive_forward(tide_ops *ops, const tide_attention_forward *call);
void tide_cpu_naive_backward(tide_ops *ops, const tide_attention_backward *call);

#endif
