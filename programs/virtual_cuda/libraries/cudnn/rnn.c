/* rnn.c - recurrent networks in cuDNN: the places of matrices and biases in the weight space, which
 * are exact, and the sizes of the two temporary spaces, which are estimates.
 *
 * The weight space holds the matrices of pseudo-layer 0, of pseudo-layer 1 and so on, and then the
 * biases in the same order. A pseudo-layer is one direction of one layer. Its matrices are those
 * that multiply the input, one a gate, those that multiply the recurrent state, and with a
 * projection the matrix that makes the projected state.
 */
#include "programs/virtual_cuda/libraries/cudnn/rnn_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

enum { LSTM = 2, GRU = 3 }; /* cudnnRNNMode_t */
enum {
    NO_BIAS = 0,
    INPUT_BIAS = 1,
    DOUBLE_BIAS = CUDNN_RNN_DOUBLE_BIAS,
    RECURRENT_BIAS = 3
}; /* cudnnRNNBiasMode_t */
enum { BIDIRECTIONAL = 1 };
enum { TYPE_FLOAT = 0, TYPE_DOUBLE = 1 }; /* cudnnDataType_t */

TIDE_VC_EXPORT int cudnnSetRNNDataDescriptor(sequences *data, int type, int layout, int n_steps,
                                             int n_sequences, int n_values, const int *lengths,
                                             const void *padding);

static int gates_of(int cell) {
    return cell == LSTM ? 4 : (cell == GRU ? 3 : 1);
}

int cudnnSetRNNDescriptor_v8(network *rnn, int algorithm, int cell, int bias, int direction,
                             int input_mode, int type, int precision, int math, int input,
                             int hidden, int projected, int n_layers, void *dropout,
                             unsigned flags) {
    (void)algorithm, (void)input_mode, (void)precision, (void)math, (void)dropout, (void)flags;
    if (rnn == NULL) {
        return CUDNN_BAD_PARAM;
    }
    *rnn = (network){.type = type,
                     .n_gates = gates_of(cell),
                     .bias = bias,
                     .n_directions = direction == BIDIRECTIONAL ? 2 : 1,
                     .input = input,
                     .hidden = hidden,
                     .projected = projected > 0 ? projected : hidden,
                     .n_layers = n_layers};
    return CUDNN_OK;
}

int cudnnSetRNNDataDescriptor(sequences *data, int type, int layout, int n_steps, int n_sequences,
                              int n_values, const int *lengths, const void *padding) {
    (void)type, (void)layout, (void)n_values, (void)lengths, (void)padding;
    if (data == NULL) {
        return CUDNN_BAD_PARAM;
    }
    *data = (sequences){n_steps, n_sequences};
    return CUDNN_OK;
}

static int64_t type_bytes(const network *rnn) {
    return rnn->type == TYPE_DOUBLE ? 8 : (rnn->type == TYPE_FLOAT ? 4 : 2);
}

static bool is_projected(const network *rnn) {
    return rnn->projected < rnn->hidden;
}

static int64_t input_of(const network *rnn, int pseudo_layer) {
    return pseudo_layer < rnn->n_directions ? rnn->input : rnn->projected * rnn->n_directions;
}

static int64_t matrix_values(const network *rnn, int pseudo_layer) {
    int64_t columns = input_of(rnn, pseudo_layer) + rnn->projected;
    int64_t projection = is_projected(rnn) ? rnn->projected * rnn->hidden : 0;
    return rnn->n_gates * rnn->hidden * columns + projection;
}

/* All matrices of the pseudo-layers before this one. */
static int64_t matrices_before(const network *rnn, int pseudo_layer) {
    int64_t n_values = 0;
    for (int i = 0; i < pseudo_layer; i++) {
        n_values += matrix_values(rnn, i);
    }
    return n_values;
}

static int64_t bias_values(const network *rnn) {
    int n_biases = rnn->bias == NO_BIAS ? 0 : (rnn->bias == DOUBLE_BIAS ? 2 : 1);
    return (int64_t)n_biases * rnn->n_gates * rnn->hidden;
}

int cudnnGetRNNWeightSpaceSize(void *handle, const network *rnn, size_t *ret_bytes) {
    (void)handle;
    if (rnn == NULL || ret_bytes == NULL) {
        return CUDNN_BAD_PARAM;
    }
    int n_pseudo = rnn->n_layers * rnn->n_directions;
    int64_t n_values = matrices_before(rnn, n_pseudo) + n_pseudo * bias_values(rnn);
    *ret_bytes = (size_t)(n_values * type_bytes(rnn));
    return CUDNN_OK;
}

static shape packed(int type, int64_t n_rows, int64_t n_columns) {
    return (shape){.type = type,
                   .n_dimensions = 3,
                   .lengths = {1, (int)n_rows, (int)n_columns},
                   .steps = {(int)(n_rows * n_columns), (int)n_columns, 1}};
}

/* Matrix `id` of a pseudo-layer: its shape, and the index of its first value in the weight
 * space. */
static int64_t place_matrix(const network *rnn, int pseudo_layer, int id, shape *ret_shape) {
    int64_t start = matrices_before(rnn, pseudo_layer);
    int64_t input = input_of(rnn, pseudo_layer), gates = rnn->n_gates;
    if (id < gates) {
        *ret_shape = packed(rnn->type, rnn->hidden, input);
        return start + id * rnn->hidden * input;
    }
    start += gates * rnn->hidden * input;
    if (id < 2 * gates) {
        *ret_shape = packed(rnn->type, rnn->hidden, rnn->projected);
        return start + (id - gates) * rnn->hidden * rnn->projected;
    }
    *ret_shape = packed(rnn->type, rnn->projected, rnn->hidden);
    return start + gates * rnn->hidden * rnn->projected;
}

/* The index of bias `id` among those of its pseudo-layer; -1 if there is none. */
static int64_t bias_place(const network *rnn, int id) {
    bool is_input = id < rnn->n_gates;
    if (id >= 2 * rnn->n_gates || rnn->bias == NO_BIAS || (rnn->bias == INPUT_BIAS && !is_input) ||
        (rnn->bias == RECURRENT_BIAS && is_input)) {
        return -1;
    }
    return rnn->bias == RECURRENT_BIAS ? id - rnn->n_gates : id;
}

/* The caller may ask for only the matrix or only the bias: the other pair is then NULL. */
int cudnnGetRNNWeightParams(void *handle, const network *rnn, int pseudo_layer, size_t n_bytes,
                            char *weights, int id, shape *ret_matrix, char **ret_matrix_at,
                            shape *ret_bias, char **ret_bias_at) {
    (void)handle, (void)n_bytes;
    shape matrix = {0}, bias = {0};
    char *matrix_at = NULL, *bias_at = NULL;
    if (rnn == NULL || pseudo_layer < 0 || pseudo_layer >= rnn->n_layers * rnn->n_directions) {
        return CUDNN_BAD_PARAM;
    }
    if (id >= 0 && id < 2 * rnn->n_gates + (is_projected(rnn) ? 1 : 0)) {
        matrix_at = weights + place_matrix(rnn, pseudo_layer, id, &matrix) * type_bytes(rnn);
        int64_t place = bias_place(rnn, id);
        if (place >= 0) {
            int64_t start = matrices_before(rnn, rnn->n_layers * rnn->n_directions) +
                            pseudo_layer * bias_values(rnn);
            bias = packed(rnn->type, rnn->hidden, 1);
            bias_at = weights + (start + place * rnn->hidden) * type_bytes(rnn);
        }
    }
    if (ret_matrix != NULL && ret_matrix_at != NULL) {
        *ret_matrix = matrix;
        *ret_matrix_at = matrix_at;
    }
    if (ret_bias != NULL && ret_bias_at != NULL) {
        *ret_bias = bias;
        *ret_bias_at = bias_at;
    }
    return CUDNN_OK;
}

/* Not documented. The estimate: for the workspace one layer's gates and its output; for the
 * reserve, which training keeps until the backward pass, every layer's gates, cells and outputs. */
int cudnnGetRNNTempSpaceSizes(void *handle, const network *rnn, int mode, const sequences *data,
                              size_t *ret_workspace_bytes, size_t *ret_reserve_bytes) {
    (void)handle;
    if (rnn == NULL || data == NULL) {
        return CUDNN_BAD_PARAM;
    }
    int64_t layer = data->n_steps * data->n_sequences * rnn->hidden * rnn->n_directions;
    int64_t workspace = layer * (rnn->n_gates + 1);
    int64_t reserve = mode == CUDNN_RNN_TRAINING ? layer * (rnn->n_gates + 2) * rnn->n_layers : 0;
    tide_vc_inexact_bytes("cudnnGetRNNTempSpaceSizes",
                          "the sizes of its two work areas are estimates",
                          (uint64_t)((workspace + reserve) * type_bytes(rnn)));
    if (ret_workspace_bytes != NULL) {
        *ret_workspace_bytes = (size_t)(workspace * type_bytes(rnn));
    }
    if (ret_reserve_bytes != NULL) {
        *ret_reserve_bytes = (size_t)(reserve * type_bytes(rnn));
    }
    return CUDNN_OK;
}
