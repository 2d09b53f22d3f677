#include "programs/virtual_cuda/libraries/cudnn/types_internal.h"

static const struct {
    uint32_t n_bytes;
    bool is_known;
    tide_run_type type;
} TYPES[] = {[0] = {4, true, TIDE_RUN_TF32},   [1] = {8, true, TIDE_RUN_FP64},
             [2] = {2, true, TIDE_RUN_FP16},   [3] = {1, true, TIDE_RUN_INT8},
             [4] = {4, false, TIDE_RUN_FP32},  [6] = {1, true, TIDE_RUN_INT8},
             [9] = {2, true, TIDE_RUN_BF16},   [10] = {8, false, TIDE_RUN_FP32},
             [11] = {1, false, TIDE_RUN_FP32}, [12] = {1, true, TIDE_RUN_FP8},
             [13] = {1, true, TIDE_RUN_FP8}};

static bool has(int type) {
    return type >= 0 && (size_t)type < sizeof(TYPES) / sizeof(TYPES[0]);
}

uint32_t tide_vc_cudnn_type_bytes(int type) {
    return has(type) ? TYPES[type].n_bytes : 0;
}

bool tide_vc_cudnn_type(int type, tide_run_type *ret_type) {
    if (!has(type) || !TYPES[type].is_known) {
        return false;
    }
    *ret_type = TYPES[type].type;
    return true;
}

/* A filter of one value in steps of one: the output has the places of the input. */
static bool is_pointwise(const tide_vc_cudnn_tensor *input, const tide_vc_cudnn_tensor *filter,
                         const tide_vc_cudnn_tensor *output) {
    bool is = true;
    for (int i = 2; i < filter->n_dimensions; i++) {
        is = is && filter->lengths[i] == 1 && input->lengths[i] == output->lengths[i];
    }
    return is;
}

bool tide_vc_cudnn_convolution(const tide_vc_cudnn_tensor *input,
                               const tide_vc_cudnn_tensor *filter,
                               const tide_vc_cudnn_tensor *output, tide_run_launch *row) {
    tide_run_type type = TIDE_RUN_FP32;
    tide_run_type out = TIDE_RUN_FP32;
    int n = filter->n_dimensions;
    if (n < 3 || n > CUDNN_MOST_DIMENSIONS || input->n_dimensions != n ||
        output->n_dimensions != n || !tide_vc_cudnn_type(input->type, &type) ||
        !tide_vc_cudnn_type(output->type, &out)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (input->lengths[i] <= 0 || filter->lengths[i] <= 0 || output->lengths[i] <= 0) {
            return false;
        }
    }
    int64_t n_groups = input->lengths[1] / filter->lengths[1];
    if (n_groups * filter->lengths[1] != input->lengths[1] ||
        output->lengths[1] != filter->lengths[0] || filter->lengths[0] % n_groups != 0 ||
        output->lengths[0] != input->lengths[0]) {
        return false;
    }
    int64_t m = output->lengths[0];
    int64_t k = filter->lengths[1];
    row->elements = 1;
    for (int i = 2; i < n; i++) {
        m *= output->lengths[i];
        k *= filter->lengths[i];
        row->elements *= (uint64_t)filter->lengths[i];
    }
    row->flags |= is_pointwise(input, filter, output) ? TIDE_RUN_POINTWISE : 0;
    row->flags |= input->is_channels_last || output->is_channels_last ? TIDE_RUN_CHANNELS_LAST : 0;
    row->kind = TIDE_RUN_CONVOLUTION;
    row->m = (uint32_t)m;
    row->n = (uint32_t)(filter->lengths[0] / n_groups);
    row->k = (uint32_t)k;
    row->count = (uint32_t)n_groups;
    row->type = (uint8_t)type;
    row->out_type = (uint8_t)out;
    return true;
}

bool tide_vc_cudnn_is_channels_last(const int64_t *lengths, const int64_t *steps, int n) {
    /* In a tensor of one place both layouts have steps of 1 there, except between places. */
    return n >= 3 && lengths[1] > 1 && steps[1] == 1 && steps[n - 1] == lengths[1];
}

static uint64_t values_of(const tide_vc_cudnn_tensor *tensor) {
    uint64_t n = 1;
    for (int i = 0; i < tensor->n_dimensions; i++) {
        n *= tensor->lengths[i] > 0 ? (uint64_t)tensor->lengths[i] : 0;
    }
    return n;
}

/* The bytes of a copy with the channels last, which tensor cores read 16 bytes at a time: the
 * channels of dimensions 1 to n_padded, counted from 1 down to 0, are filled up to that. */
static uint64_t copy_bytes(const tide_vc_cudnn_tensor *tensor, uint64_t value_bytes, int n_padded) {
    enum { LOAD_BYTES = 16 };
    uint64_t n_bytes = values_of(tensor) * value_bytes;
    for (int i = 1; i > 1 - n_padded && value_bytes > 0 && tensor->lengths[i] > 0; i--) {
        uint64_t length = (uint64_t)tensor->lengths[i];
        uint64_t unit = value_bytes < LOAD_BYTES ? LOAD_BYTES / value_bytes : 1;
        n_bytes = n_bytes / length * ((length + unit - 1) / unit * unit);
    }
    return n_bytes;
}

tide_vc_cudnn_problem tide_vc_cudnn_problem_of(tide_vc_cudnn_way way,
                                               const tide_vc_cudnn_tensor *input,
                                               const tide_vc_cudnn_tensor *filter,
                                               const tide_vc_cudnn_tensor *output) {
    bool is_grouped = input->lengths[1] != filter->lengths[1];
    bool is_copied = !is_grouped && !input->is_channels_last && !output->is_channels_last;
    uint64_t value_bytes = tide_vc_cudnn_type_bytes(input->type);
    return (tide_vc_cudnn_problem){.way = way,
                                   .x_bytes = copy_bytes(input, value_bytes, is_copied ? 1 : 0),
                                   .w_bytes = copy_bytes(filter, value_bytes, is_copied ? 2 : 0),
                                   .y_bytes = copy_bytes(output, value_bytes, is_copied ? 1 : 0),
                                   .w_values = values_of(filter),
                                   .is_channels_last =
                                       input->is_channels_last || output->is_channels_last,
                                   .is_pointwise = is_pointwise(input, filter, output),
                                   .is_grouped = is_grouped};
}
