/* ops_cpu_internal.h - the shared parts of the cpu device's operators: their state, and small
 * functions on numbers.
 *
 * Every operator is the readable reference of its contract in ops.h. Each array is fp32, bf16 or
 * fp16; arithmetic is fp32, sums over rows are computed in double, and a narrower result is rounded
 * once (pieces.h). bf16 and fp16 are emulated: their bytes are real, but their times are not
 * representative. Loops are parallel over chunks that write different elements and whose number and
 * order depend only on shapes, so the results are the same, to the bit, for any number of
 * threads.
 */
#ifndef TIDE_MODEL_OPS_CPU_OPS_CPU_INTERNAL_H
#define TIDE_MODEL_OPS_CPU_OPS_CPU_INTERNAL_H

#include <stdint.h>
#include <string.h>

#include "common/hostmem.h"
#include "model/bf16.h"
#include "model/fp16.h"
#include "model/ops.h"
#include "model/ops_cpu/gemm.h"
#include "model/ops_cpu/kernels.h"

typedef struct tide_ops_cpu {
    tide_ops ops;                    /* first member */
    const tide_cpu_kernels *kernels; /* static; the inner loops for this machine */
    const tide_gemm_kernels *gemm;   /* static; matmul's and attention's */
    float *scratch;                  /* owned; holds the three below; only matmul uses it */
    float *packed_a;                 /* panels of TIDE_OPS_CPU_GEMM_M rows by TIDE_GEMM_K */
    float *packed_b;                 /* panels of TIDE_OPS_CPU_GEMM_N columns by TIDE_GEMM_K */
    float *sums;                     /* (TIDE_OPS_CPU_GEMM_M, TIDE_OPS_CPU_GEMM_N) */
    int n_threads;                   /* of every parallel loop, at least 1 */
    char description[160];           /* "AVX-512 kernels, 2 threads" */
} tide_ops_cpu;

/* Rows and columns of a block of matmul's out: they are large because every block copies its rows
 * of a and its columns of b again; the panels of b stay in a shared cache. */
enum { TIDE_OPS_CPU_GEMM_M = 1024, TIDE_OPS_CPU_GEMM_N = 2048 };

static inline const tide_ops_cpu *tide_ops_cpu_of(const tide_ops *ops) {
    return (const tide_ops_cpu *)(const void *)ops;
}

/* TIDE_UNSUPPORTED, naming the operator and the array, unless every array is fp32, bf16 or
 * fp16. */
TIDE_NODISCARD tide_status tide_ops_cpu_need_floats(const char *operator_name,
                                                    const tide_array *arrays, size_t n_arrays,
                                                    tide_error *error);

/* Elements of one chunk of an elementwise loop: large enough to justify waking a thread. */
enum { TIDE_OPS_CPU_CHUNK = 1 << 14 };

/* Up to this many elements an operator stays on the caller's thread: starting a parallel region
 * took 3 us to 5 us on two cores, in which time one thread adds 16000 cached numbers. */
enum { TIDE_OPS_CPU_SERIAL = TIDE_OPS_CPU_CHUNK };

static inline size_t tide_ops_cpu_n_chunks(size_t n) {
    return (n + TIDE_OPS_CPU_CHUNK - 1) / TIDE_OPS_CPU_CHUNK;
}

/* One past the last element of a chunk. */
static inline size_t tide_ops_cpu_chunk_end(size_t chunk, size_t n) {
    size_t end = (chunk + 1) * TIDE_OPS_CPU_CHUNK;
    return end < n ? end : n;
}

/* e^x without a branch, to vectorise loops over it; 2 units in the last place. x is clamped to
 * [-87, 88], where e^x is a normal fp32 number; NaN stays NaN. x = n ln 2 + r with |r| <= 0.35; the
 * Taylor polynomial of degree 7 leaves r^8 / 8! < 6e-9. */
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

/* The operators: tide_cpu_x for each x; contracts in ops.h. */
#define TIDE_OPERATOR_TWIN(x) tide_##x##_operator tide_cpu_##x;
TIDE_OPERATORS(TIDE_OPERATOR_TWIN)
#undef TIDE_OPERATOR_TWIN

/* attention_flash.c, attention_naive.c: the two kinds; arrays are checked by the caller. */
void tide_cpu_flash_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call);
void tide_cpu_flash_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call);
void tide_cpu_naive_forward(tide_ops *ops, const tide_attention_forward *call);
void tide_cpu_naive_backward(tide_ops *ops, const tide_attention_backward *call);

#endif
