/* kernels.h - the inner loops of the cpu device: functions on short runs of fp32 numbers, without
 * threads, types or errors. Each is compiled once per instruction set, and the best table that the
 * machine has is chosen when the operators are opened.
 *
 * Storage types stay outside: an operator widens a piece of a bf16 array into a buffer on its
 * stack, calls the kernel, and narrows what it wrote (pieces.h).
 */
#ifndef TIDE_MODEL_OPS_CPU_KERNELS_H
#define TIDE_MODEL_OPS_CPU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef struct tide_cpu_kernels {
    const char *name; /* of the instruction set: "AVX-512", "AVX2", "generic" */

    /* out (n) = x (n), bf16 to fp32; exact. */
    void (*widen)(float *out, const uint16_t *x, size_t n);
    /* out (n) = x (n), fp32 to bf16, to nearest, ties to even; NaN stays NaN. */
    void (*narrow)(uint16_t *out, const float *x, size_t n);
} tide_cpu_kernels;

/* The tables that this machine can run, best first; the last is "generic". NULL at the end. */
const tide_cpu_kernels *const *tide_cpu_kernels_available(void);

/* The best, or the one that the environment variable TIDEMARK_CPU_KERNELS names ("avx512", "avx2",
 * "generic"), for comparisons. NULL: this machine does not have what it names. */
const tide_cpu_kernels *tide_cpu_kernels_choose(void);

#endif
