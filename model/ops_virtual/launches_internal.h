/* launches_internal.h - the launches of each operator on a cuda device, in the rows of a launch
 * log.
 *
 * A row's bytes are those of the arrays that the kernel reads and writes, each element once,
 * because a second read hits a cache. They follow only from the call's shapes and types.
 * cuda_emulated.race.launches compares them with the bytes that the kernels touch in the emulator,
 * and cuda_emulated.ops.launches compares names and order with the launches of
 * ops_cuda/.
 */
#ifndef TIDE_MODEL_OPS_VIRTUAL_LAUNCHES_INTERNAL_H
#define TIDE_MODEL_OPS_VIRTUAL_LAUNCHES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/ops.h"

typedef struct tide_ops_virtual {
    tide_ops ops;        /* first member */
    bool rounds_to_tf32; /* products of fp32 factors are computed as TF32 */
} tide_ops_virtual;

/* tide_launches_of_x: appends what operator x launches. ops->launches is not NULL.
 * TIDE_NO_MEMORY only. */
#define TIDE_OPERATOR_LAUNCHES(x)                                                                  \
    TIDE_NODISCARD tide_status tide_launches_of_##x(const tide_ops *ops, const tide_##x *call);
TIDE_OPERATORS(TIDE_OPERATOR_LAUNCHES)
#undef TIDE_OPERATOR_LAUNCHES

/* Bytes of n elements of the array. */
static inline uint64_t tide_launch_bytes(tide_array array, size_t n) {
    return (uint64_t)n * tide_dtype_bytes(array.dtype);
}

/* Bytes of n fp32 or int32 numbers that are not in an array. */
static inline uint64_t tide_launch_words(size_t n) {
    return 4 * (uint64_t)n;
}

/* A kernel of our own. `elements`: of its result. */
TIDE_NODISCARD tide_status tide_launch_kernel(const tide_ops *ops, const char *name,
                                              tide_run_family family, uint64_t bytes,
                                              uint64_t elements);

/* A call of cuBLAS: `count` products out (m, n) = a b, each transposed or not according to the
 * kind;
 * a and b are of type `in`. */
typedef struct tide_launch_gemm {
    tide_matmul_kind kind;
    size_t m, n, k, count;
    tide_dtype in, out;
    uint64_t addend_bytes; /* of a matrix that is added to out */
} tide_launch_gemm;
TIDE_NODISCARD tide_status tide_launch_product(const tide_ops *ops, const tide_launch_gemm *gemm);

/* A kernel of fused attention, causal, that computes this number of products of each head. */
typedef struct tide_launch_attention {
    const char *name;
    bool is_backward;
    tide_run_type type; /* bf16 and TF32 on tensor cores; else fp32 */
    size_t B, T, H, D;  /* as in ops.h */
    uint64_t n_products;
    uint64_t bytes;
} tide_launch_attention;
TIDE_NODISCARD tide_status tide_launch_fused(const tide_ops *ops,
                                             const tide_launch_attention *attention);

#endif
