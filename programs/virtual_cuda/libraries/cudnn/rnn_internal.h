/* rnn_internal.h - shared by the two interfaces to recurrent networks in cuDNN. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_RNN_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_RNN_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"

enum { CUDNN_RNN_DOUBLE_BIAS = 2 }; /* cudnnRNNBiasMode_t */
enum { CUDNN_RNN_INFERENCE = 0, CUDNN_RNN_TRAINING = 1 };

/* An RNN's descriptor. */
typedef struct network {
    int type, n_gates, bias, n_directions;
    int64_t input, hidden, projected; /* lengths; projected equals hidden without a projection */
    int n_layers;
} network;
_Static_assert(sizeof(network) <= TIDE_VC_HANDLE_BYTES, "a network fits in a handle");

/* The descriptor of an RNN's input or output. */
typedef struct sequences {
    int64_t n_steps, n_sequences;
} sequences;

TIDE_VC_EXPORT int cudnnSetRNNDescriptor_v8(network *rnn, int algorithm, int cell, int bias,
                                            int direction, int input_mode, int type, int precision,
                                            int math, int input, int hidden, int projected,
                                            int n_layers, void *dropout, unsigned flags);
TIDE_VC_EXPORT int cudnnGetRNNWeightSpaceSize(void *handle, const network *rnn, size_t *ret_bytes);
TIDE_VC_EXPORT int cudnnGetRNNWeightParams(void *handle, const network *rnn, int pseudo_layer,
                                           size_t n_bytes, char *weights, int id, shape *ret_matrix,
                                           char **ret_matrix_at, shape *ret_bias,
                                           char **ret_bias_at);
TIDE_VC_EXPORT int cudnnGetRNNTempSpaceSizes(void *handle, const network *rnn, int mode,
                                             const sequences *data, size_t *ret_workspace_bytes,
                                             size_t *ret_reserve_bytes);

#endif
