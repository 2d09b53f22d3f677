/* reduce.h - the arithmetic of reductions, for the few small ones whose values are known.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_REDUCE_H
#define TIDE_VIRTUAL_CUDA_NCCL_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

/* ncclDataType_t. */
typedef enum tide_vc_nccl_type {
    TIDE_VC_INT8 = 0,
    TIDE_VC_UINT8,
    TIDE_VC_INT32,
    TIDE_VC_UINT32,
    TIDE_VC_INT64,
    TIDE_VC_UINT64,
    TIDE_VC_FLOAT16,
    TIDE_VC_FLOAT32,
    TIDE_VC_FLOAT64,
    TIDE_VC_BFLOAT16,
    TIDE_VC_FLOAT8_E4M3,
    TIDE_VC_FLOAT8_E5M2
} tide_vc_nccl_type;

/* ncclRedOp_t. The program's own operations scale by a factor. */
typedef enum tide_vc_nccl_operation {
    TIDE_VC_SUM = 0,
    TIDE_VC_PRODUCT,
    TIDE_VC_MAX,
    TIDE_VC_MIN,
    TIDE_VC_AVERAGE,
    TIDE_VC_OWN_OPERATION
} tide_vc_nccl_operation;

/* Bytes of one value; 0 if there is no such type. */
size_t tide_vc_nccl_type_bytes(int type);

/* Whether this file can reduce values of the type: not 8-bit floating point, and not by the
 * program's own operations. */
bool tide_vc_nccl_can_reduce(int type, int operation);

/* total[i] = total[i] OP more[i] for n values. An average adds. */
void tide_vc_nccl_reduce(void *total, const void *more, size_t n, int type, int operation);

/* Whether the type has whole numbers only. */
static inline bool tide_vc_nccl_is_whole(int type) {
    return type <= TIDE_VC_UINT64;
}

/* total[i] = total[i] / n_ranks. This ends an average of whole numbers, rounded towards 0, and
 * begins an average of other types. */
void tide_vc_nccl_divide(void *total, size_t n, int type, int n_ranks);

#endif
