/* bound.c - the largest workspace of cuDNN to expect. The library's manual names what its
 * algorithms keep there: the matrix of all windows (the explicit product of matrices), and
 * transformed copies of the tensors. Sizes are unpublished, so these bytes only say how wrong an
 * answer may be, and are never returned to a program. */
#include "programs/virtual_cuda/libraries/cudnn/graph_internal.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "programs/virtual_cuda/libraries/cudnn/attributes_internal.h"

enum { DATA_DOUBLE = 1 }; /* cudnnDataType_t */
enum { DOUBLE_BYTES = 8, FLOAT_BYTES = 4 };

static uint64_t value_bytes(int type) {
    return type == DATA_DOUBLE ? DOUBLE_BYTES : FLOAT_BYTES;
}

/* The matrix has a row for each place of the output and a column for each value of a window. */
static uint64_t window_matrix(uint64_t n_output, uint64_t n_filter, uint64_t n_channels) {
    return n_channels > 0 ? n_output / n_channels * (n_filter / n_channels) : 0;
}

static uint64_t n_values_of(const shape *tensor) {
    uint64_t n = 1;
    for (int i = 0; i < tensor->n_dimensions; i++) {
        n *= tensor->lengths[i] > 0 ? (uint64_t)tensor->lengths[i] : 0;
    }
    return n;
}

uint64_t tide_vc_cudnn_convolution_bound(const shape *input, const shape *filter,
                                         const shape *output) {
    if (input == NULL || filter == NULL || output == NULL) {
        return 0;
    }
    uint64_t n_filter = n_values_of(filter), n_output = n_values_of(output);
    uint64_t n_channels = filter->lengths[0] > 0 ? (uint64_t)filter->lengths[0] : 0;
    return (n_values_of(input) + n_filter + n_output +
            window_matrix(n_output, n_filter, n_channels)) *
           value_bytes(input->type);
}

/* Descriptor i that an attribute names; NULL if there is none. */
static const descriptor *descriptor_in(const attribute *set, int64_t i) {
    const descriptor *found = NULL;
    if (set != NULL && i < set->n_values && set->type == TYPE_OF_DESCRIPTORS) {
        memcpy(&found, set->values + (size_t)i * sizeof(found), sizeof(found));
    }
    return found;
}

/* Length i of a tensor, or the product of all lengths if i is below 0. */
static uint64_t lengths_of(const descriptor *tensor, int64_t i) {
    const attribute *set = tide_vc_cudnn_find(tensor, TENSOR_LENGTHS);
    uint64_t n = set != NULL ? 1 : 0;
    for (int64_t j = 0; set != NULL && j < set->n_values; j++) {
        int64_t length = 0;
        memcpy(&length, set->values + (size_t)j * sizeof(length), sizeof(length));
        n *= i < 0 || i == j ? (uint64_t)length : 1;
    }
    return n;
}

static uint64_t bytes_of_values(const descriptor *tensor) {
    const attribute *set = tide_vc_cudnn_find(tensor, TENSOR_TYPE);
    int type = 0;
    if (set != NULL) {
        memcpy(&type, set->values, sizeof(type));
    }
    return value_bytes(type);
}

/* The bytes of a copy of the tensor; virtual tensors exist only inside a kernel. */
static uint64_t copy_of(const descriptor *tensor) {
    const attribute *set = tide_vc_cudnn_find(tensor, TENSOR_IS_VIRTUAL);
    return set != NULL && set->values[0] != 0 ? 0
                                              : lengths_of(tensor, -1) * bytes_of_values(tensor);
}

static uint64_t windows_of(const descriptor *operation) {
    static const int PARTS[][3] = {{FORWARD_X, FORWARD_W, FORWARD_Y},
                                   {DATA_DX, DATA_W, DATA_DY},
                                   {FILTER_X, FILTER_DW, FILTER_DY}};
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        const attribute *input = tide_vc_cudnn_find(operation, PARTS[i][0]);
        const attribute *filter = tide_vc_cudnn_find(operation, PARTS[i][1]);
        const attribute *output = tide_vc_cudnn_find(operation, PARTS[i][2]);
        if (input != NULL && filter != NULL && output != NULL) {
            n_bytes = input->named.value_bytes * window_matrix(output->named.n_values,
                                                               filter->named.n_values,
                                                               filter->named.first_length);
        }
    }
    return n_bytes;
}

uint64_t tide_vc_cudnn_bound_kept(const descriptor *object) {
    const attribute *set = tide_vc_cudnn_find(object, TIDE_VC_CUDNN_BOUND);
    uint64_t value = 0;
    if (set != NULL) {
        memcpy(&value, set->values, sizeof(value));
    }
    return value;
}

/* An operation names its tensors, a graph its operations, the heuristics and an engine their graph,
 * a configuration its engine and a plan its configuration. */
uint64_t tide_vc_cudnn_bound_now(const descriptor *object) {
    if (object->type == TENSOR) {
        return copy_of(object);
    }
    uint64_t n_bytes = windows_of(object);
    for (const attribute *i = object->first; i != NULL; i = i->next) {
        n_bytes += i->named.bound_bytes;
    }
    return n_bytes;
}

void tide_vc_cudnn_note_named(attribute *set) {
    const descriptor *first = descriptor_in(set, 0);
    const descriptor *one = NULL;
    for (int64_t i = 0; (one = descriptor_in(set, i)) != NULL; i++) {
        set->named.bound_bytes += tide_vc_cudnn_bound_kept(one);
    }
    if (first != NULL && first->type == TENSOR) {
        set->named.n_values = lengths_of(first, -1);
        set->named.first_length = lengths_of(first, 0);
        set->named.value_bytes = bytes_of_values(first);
    }
}
