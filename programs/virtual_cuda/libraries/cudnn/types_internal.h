/* types_internal.h - types and convolutions of cuDNN, converted for the launch log. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_TYPES_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_TYPES_INTERNAL_H

#include "programs/virtual_cuda/libraries/cudnn/work_friend.h"

/* Of a cudnnDataType_t; 0 and false for any other. fp32 becomes TF32, in which cuDNN computes by
 * default, unless an engine without tensor cores is chosen (backend.c). */
uint32_t tide_vc_cudnn_type_bytes(int type);
bool tide_vc_cudnn_type(int type, tide_run_type *ret_type);

/* Fills in the row's kind, sizes and types from the lengths of the input (N, C, ...), the filter
 * (K, C of a group, ...) and the output (N, K, ...). False: they do not fit each other. */
bool tide_vc_cudnn_convolution(const tide_vc_cudnn_tensor *input,
                               const tide_vc_cudnn_tensor *filter,
                               const tide_vc_cudnn_tensor *output, tide_run_launch *row);

/* The same convolution for the rule of work areas. Call it if the lengths fit each other. */
tide_vc_cudnn_problem tide_vc_cudnn_problem_of(tide_vc_cudnn_way way,
                                               const tide_vc_cudnn_tensor *input,
                                               const tide_vc_cudnn_tensor *filter,
                                               const tide_vc_cudnn_tensor *output);

/* Whether the values of a place are next to each other. Unknown for one channel: false. */
bool tide_vc_cudnn_is_channels_last(const int64_t *lengths, const int64_t *steps, int n);

#endif
