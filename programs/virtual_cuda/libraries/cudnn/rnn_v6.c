/* rnn_v6.c - the recurrent networks of cuDNN 8 programs, such as PyTorch before 2.4: each query
 * passes the type and the length of the input, and every step of a sequence has its own descriptor.
 * The answers are those of rnn.c. */
#include "programs/virtual_cuda/libraries/cudnn/rnn_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

TIDE_VC_EXPORT int cudnnSetRNNDescriptor_v6(void *handle, network *rnn, int hidden, int n_layers,
                                            void *dropout, int input_mode, int direction, int cell,
                                            int algorithm, int precision);
TIDE_VC_EXPORT int cudnnSetRNNProjectionLayers(void *handle, network *rnn, int projected,
                                               int projected_output);
TIDE_VC_EXPORT int cudnnGetRNNParamsSize(void *handle, const network *rnn, const shape *input,
                                         size_t *ret_bytes, int type);
TIDE_VC_EXPORT int cudnnGetRNNLinLayerMatrixParams(void *handle, const network *rnn,
                                                   int pseudo_layer, const shape *input,
                                                   const shape *filter, char *weights, int id,
                                                   shape *ret_matrix, char **ret_matrix_at);
TIDE_VC_EXPORT int cudnnGetRNNLinLayerBiasParams(void *handle, const network *rnn, int pseudo_layer,
                                                 const shape *input, const shape *filter,
                                                 char *weights, int id, shape *ret_bias,
                                                 char **ret_bias_at);
TIDE_VC_EXPORT int cudnnGetRNNWorkspaceSize(void *handle, const network *rnn, int n_steps,
                                            const shape *const *steps, size_t *ret_bytes);
TIDE_VC_EXPORT int cudnnGetRNNTrainingReserveSize(void *handle, const network *rnn, int n_steps,
                                                  const shape *const *steps, size_t *ret_bytes);

int cudnnSetRNNDescriptor_v6(void *handle, network *rnn, int hidden, int n_layers, void *dropout,
                             int input_mode, int direction, int cell, int algorithm,
                             int precision) {
    (void)handle;
    return cudnnSetRNNDescriptor_v8(rnn, algorithm, cell, CUDNN_RNN_DOUBLE_BIAS, direction,
                                    input_mode, precision, precision, 0, 0, hidden, 0, n_layers,
                                    dropout, 0);
}

int cudnnSetRNNProjectionLayers(void *handle, network *rnn, int projected, int projected_output) {
    (void)handle, (void)projected_output;
    if (rnn == NULL) {
        return CUDNN_BAD_PARAM;
    }
    rnn->projected = projected > 0 ? projected : rnn->hidden;
    return CUDNN_OK;
}

/* The network with the parameters of a query: a step's input is (sequences, values, 1). */
static network with_input(const network *rnn, const shape *input, int type) {
    network whole = *rnn;
    whole.input = input->lengths[1];
    whole.type = type;
    return whole;
}

int cudnnGetRNNParamsSize(void *handle, const network *rnn, const shape *input, size_t *ret_bytes,
                          int type) {
    if (rnn == NULL || input == NULL) {
        return CUDNN_BAD_PARAM;
    }
    network whole = with_input(rnn, input, type);
    return cudnnGetRNNWeightSpaceSize(handle, &whole, ret_bytes);
}

int cudnnGetRNNLinLayerMatrixParams(void *handle, const network *rnn, int pseudo_layer,
                                    const shape *input, const shape *filter, char *weights, int id,
                                    shape *ret_matrix, char **ret_matrix_at) {
    if (rnn == NULL || input == NULL || filter == NULL) {
        return CUDNN_BAD_PARAM;
    }
    network whole = with_input(rnn, input, filter->type);
    return cudnnGetRNNWeightParams(handle, &whole, pseudo_layer, 0, weights, id, ret_matrix,
                                   ret_matrix_at, NULL, NULL);
}

int cudnnGetRNNLinLayerBiasParams(void *handle, const network *rnn, int pseudo_layer,
                                  const shape *input, const shape *filter, char *weights, int id,
                                  shape *ret_bias, char **ret_bias_at) {
    if (rnn == NULL || input == NULL || filter == NULL) {
        return CUDNN_BAD_PARAM;
    }
    network whole = with_input(rnn, input, filter->type);
    return cudnnGetRNNWeightParams(handle, &whole, pseudo_layer, 0, weights, id, NULL, NULL,
                                   ret_bias, ret_bias_at);
}

/* Later steps may have fewer sequences; only the total number of values matters. */
static int temporary_spaces(void *handle, const network *rnn, int n_steps,
                            const shape *const *steps, size_t *ret_workspace_bytes,
                            size_t *ret_reserve_bytes) {
    sequences all = {.n_steps = 1, .n_sequences = 0};
    if (rnn == NULL || steps == NULL) {
        return CUDNN_BAD_PARAM;
    }
    network whole = *rnn;
    for (int i = 0; i < n_steps; i++) {
        all.n_sequences += steps[i]->lengths[0];
        whole = with_input(rnn, steps[i], steps[i]->type);
    }
    return cudnnGetRNNTempSpaceSizes(handle, &whole, CUDNN_RNN_TRAINING, &all, ret_workspace_bytes,
                                     ret_reserve_bytes);
}

int cudnnGetRNNWorkspaceSize(void *handle, const network *rnn, int n_steps,
                             const shape *const *steps, size_t *ret_bytes) {
    return temporary_spaces(handle, rnn, n_steps, steps, ret_bytes, NULL);
}

int cudnnGetRNNTrainingReserveSize(void *handle, const network *rnn, int n_steps,
                                   const shape *const *steps, size_t *ret_bytes) {
    return temporary_spaces(handle, rnn, n_steps, steps, NULL, ret_bytes);
}
