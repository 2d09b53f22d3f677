/* decode_internal.h - the product of decode for many rows. C and C++. */
#ifndef TIDE_MODEL_OPS_CUDA_DECODE_DECODE_INTERNAL_H
#define TIDE_MODEL_OPS_CUDA_DECODE_DECODE_INTERNAL_H

#include "model/decode/operators.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether tiles can compute the product and are faster: x is bf16, rows are many, and everything is
 * aligned to 16 bytes. */
bool tide_cuda_decode_fits_tiles(const tide_decode_product *call);
/* Launches it; a cudaError_t. */
int tide_cuda_decode_tiles(const tide_ops *ops, const tide_decode_product *call);

#ifdef __cplusplus
}
#endif

#endif
