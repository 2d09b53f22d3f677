/* work.c - rows of the launch log for cuDNN's convolutions, batch norms and executed plans.
 */
#include "programs/virtual_cuda/libraries/cudnn/work_friend.h"

#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/libraries/cudnn/graph_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/types_internal.h"

static void *stream_of(const void *handle) {
    return handle != NULL ? *(void *const *)handle : NULL;
}

/* ---- plans ---- */

enum { FORWARD_PRODUCTS = 2, BACKWARD_PRODUCTS = 5 };

/* A graph with two products of matrices is attention; one with five is its backward pass, which
 * recomputes the scores and computes the gradients of values, scores, queries and keys. */
static tide_run_launch row_of(const tide_vc_cudnn_work *of) {
    tide_run_launch row = of->row;
    bool is_attention = of->n_attentions > 0 || of->n_products == FORWARD_PRODUCTS ||
                        of->n_products == BACKWARD_PRODUCTS;
    bool is_single = of->n_products == 1 && of->n_attentions == 0;
    for (size_t i = 0; i < of->n_tensors; i++) {
        row.bytes += of->tensors[i].n_bytes;
    }
    if (of->n_convolutions > 0) {
        return row;
    }
    if (is_attention && row.m > 0) {
        row.kind = TIDE_RUN_ATTENTION;
        row.flags |= of->n_products == BACKWARD_PRODUCTS ? TIDE_RUN_BACKWARD : 0;
        row.flags |= of->is_uncertain ? TIDE_RUN_ESTIMATED : 0;
        if (of->has_band && row.m == row.n) {
            row.flags |= TIDE_RUN_CAUSAL;
        } else if (of->has_band) { /* the place of the band is unknown */
            row.flags |= TIDE_RUN_ESTIMATED;
        }
        return row;
    }
    if (is_single && row.m > 0) {
        row.kind = TIDE_RUN_PRODUCT;
        row.bytes = 0; /* only its matrices */
        return row;
    }
    uint64_t n_bytes = row.bytes;
    return (tide_run_launch){.kind = TIDE_RUN_KERNEL,
                             .family = TIDE_RUN_LIBRARY,
                             .bytes = n_bytes,
                             .flags = of->n_products == 0 && n_bytes > 0 ? TIDE_RUN_ESTIMATED
                                                                         : TIDE_RUN_GUESSED};
}

void tide_vc_cudnn_log_plan(void *handle, const descriptor *plan) {
    tide_vc_entry entry = tide_vc_launch_begin();
    const tide_vc_cudnn_work *work = tide_vc_cudnn_work_kept(plan);
    tide_run_launch row = {
        .kind = TIDE_RUN_KERNEL, .family = TIDE_RUN_LIBRARY, .flags = TIDE_RUN_GUESSED};
    if (tide_vc_is_logged(entry)) {
        row = work != NULL ? row_of(work) : row;
        tide_vc_launch_end(entry, &row, stream_of(handle), "cudnnBackendExecute");
    }
}

/* ---- older calls ---- */

enum { FMA_MATH = 3 }; /* cudnnMathType_t: no tensor cores for fp32 */

static tide_vc_cudnn_tensor tensor_of(const shape *from) {
    tide_vc_cudnn_tensor tensor = {.type = from->type, .n_dimensions = from->n_dimensions};
    tensor.n_bytes = (uint64_t)tide_vc_cudnn_type_bytes(from->type);
    int64_t steps[CUDNN_MOST_DIMENSIONS] = {0};
    for (int i = 0; i < from->n_dimensions && i < CUDNN_MOST_DIMENSIONS; i++) {
        steps[i] = from->steps[i];
        tensor.lengths[i] = from->lengths[i];
        tensor.n_bytes *= from->lengths[i] > 0 ? (uint64_t)from->lengths[i] : 0;
    }
    tensor.is_channels_last =
        tide_vc_cudnn_is_channels_last(tensor.lengths, steps, tensor.n_dimensions);
    return tensor;
}

/* `convolution` may be NULL: its first word is the cudnnMathType_t. */
static bool forbids_rounding(const tide_run_launch *row, const int *convolution) {
    return row->type == TIDE_RUN_TF32 && convolution != NULL && *convolution == FMA_MATH;
}

tide_vc_cudnn_area tide_vc_cudnn_convolution_area(tide_vc_cudnn_way way, const shape *input,
                                                  const shape *filter, const int *convolution,
                                                  const shape *output) {
    tide_run_launch row = {.kind = TIDE_RUN_KERNEL};
    if (input == NULL || filter == NULL || output == NULL) {
        return (tide_vc_cudnn_area){.likely_bytes = 0};
    }
    tide_vc_cudnn_tensor x = tensor_of(input), w = tensor_of(filter), y = tensor_of(output);
    if (!tide_vc_cudnn_convolution(&x, &w, &y, &row)) {
        return (tide_vc_cudnn_area){.likely_bytes = 0};
    }
    tide_vc_cudnn_problem problem = tide_vc_cudnn_problem_of(way, &x, &w, &y);
    bool is_plain = forbids_rounding(&row, convolution);
    return tide_vc_cudnn_area_here(&problem, is_plain ? TIDE_RUN_FP32 : (tide_run_type)row.type);
}

void tide_vc_cudnn_log_convolution(const void *handle, const char *call, const shape *input,
                                   const shape *filter, const int *convolution, const shape *output,
                                   tide_vc_cudnn_way way) {
    tide_vc_entry entry = tide_vc_launch_begin();
    tide_run_launch row = {
        .kind = TIDE_RUN_KERNEL, .family = TIDE_RUN_LIBRARY, .flags = TIDE_RUN_GUESSED};
    if (!tide_vc_is_logged(entry)) {
        return;
    }
    if (input != NULL && filter != NULL && output != NULL) {
        tide_vc_cudnn_tensor x = tensor_of(input);
        tide_vc_cudnn_tensor w = tensor_of(filter);
        tide_vc_cudnn_tensor y = tensor_of(output);
        tide_run_launch made = {.bytes = x.n_bytes + w.n_bytes + y.n_bytes};
        if (tide_vc_cudnn_convolution(&x, &w, &y, &made)) {
            row = made;
            row.flags |= way != TIDE_VC_CUDNN_OUTPUT ? TIDE_RUN_BACKWARD : 0;
            if (forbids_rounding(&row, convolution)) {
                row.type = row.out_type = TIDE_RUN_FP32;
            }
        }
    }
    tide_vc_launch_end(entry, &row, stream_of(handle), call);
}

void tide_vc_cudnn_record_convolution(const void *handle, const void *area_at, const shape *input,
                                      const shape *filter, const int *convolution,
                                      const shape *output, tide_vc_cudnn_way way) {
    tide_vc_cudnn_area area =
        tide_vc_cudnn_convolution_area(way, input, filter, convolution, output);
    tide_vc_cudnn_record_area(area_at, &area, stream_of(handle));
}

void tide_vc_cudnn_log_passes(const void *handle, const char *call, const shape *tensor,
                              unsigned n_passes) {
    tide_vc_entry entry = tide_vc_launch_begin();
    if (tide_vc_is_logged(entry)) {
        tide_run_launch row = {.kind = TIDE_RUN_KERNEL, .family = TIDE_RUN_NORM};
        if (tensor != NULL) {
            tide_vc_cudnn_tensor of = tensor_of(tensor);
            uint32_t value_bytes = tide_vc_cudnn_type_bytes(of.type);
            row.bytes = of.n_bytes * n_passes;
            row.elements = value_bytes > 0 ? of.n_bytes / value_bytes : 0;
        }
        row.flags = row.bytes == 0 ? TIDE_RUN_GUESSED : 0;
        tide_vc_launch_end(entry, &row, stream_of(handle), call);
    }
}
