/* attention_internal.h - the parts of attention on the cuda device: attention.c checks a call and
 * passes it to one of these. C and C++.
 */
#ifndef TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_INTERNAL_H
#define TIDE_MODEL_OPS_CUDA_ATTENTION_ATTENTION_INTERNAL_H

#include "model/ops_cuda/ops_cuda_friend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most channels of a head for flash attention: limited by the registers and shared memory of a
 * block. */
enum { TIDE_CUDA_FLASH_CHANNELS = 128 };

/* attention_flash.cu: fp32 arithmetic on tiles in shared memory, for arrays of one type. */
TIDE_NODISCARD tide_attention_forward_operator tide_cuda_flash_forward;
TIDE_NODISCARD tide_attention_backward_operator tide_cuda_flash_backward;

/* attention_mma_forward.cu, attention_mma_backward.cu: the same on tensor cores, for bf16 and, with
 * products in TF32, for fp32: of heads of whole packs of 16 bytes in arrays aligned to 16 bytes. */
TIDE_NODISCARD tide_attention_forward_operator tide_cuda_mma_forward;
TIDE_NODISCARD tide_attention_backward_operator tide_cuda_mma_backward;

/* attention_delta.cu: call->scratch[b][h][t] = sum_d dout * out, the first step of the backward
 * pass of flash attention; in_tf32: with dout, of fp32, rounded to TF32. */
TIDE_NODISCARD tide_status tide_cuda_attention_delta(tide_ops *ops,
                                                     const tide_attention_backward *call,
                                                     bool in_tf32, tide_error *error);

/* attention_naive.c: products by cuBLAS, and the two below. */
TIDE_NODISCARD tide_attention_forward_operator tide_cuda_naive_forward;
TIDE_NODISCARD tide_attention_backward_operator tide_cuda_naive_backward;

/* attention_softmax.cu: call->probs (B, H, T, T) from scaled scores to probabilities, and
 * call->dprobs to the gradients of unscaled scores, both in place. */
TIDE_NODISCARD tide_attention_forward_operator tide_cuda_attention_softmax;
TIDE_NODISCARD tide_attention_backward_operator tide_cuda_attention_softmax_backward;

#ifdef __cplusplus
}
#endif

#endif
