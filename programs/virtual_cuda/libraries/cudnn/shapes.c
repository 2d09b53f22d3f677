/* shapes.c - cuDNN: descriptors of four dimensions, the windows of convolutions and poolings, and
 * the shapes of their outputs. */
#include <string.h>

#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/types_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

enum { FOUR = 4, MOST_WINDOW = 6 }; /* dimensions; of a window: without N and C */
enum { NCHW = 0, NHWC = 1 };        /* cudnnTensorFormat_t */
enum { FP32 = 0 };                  /* cudnnDataType_t */

int cudnnSetTensorNdDescriptor(shape *tensor, int type, int n, const int *lengths,
                               const int *steps);
int cudnnSetFilterNdDescriptor(shape *filter, int type, int format, int n, const int *lengths);

/* NOLINTBEGIN(readability-function-size): cuDNN's own signatures. */
TIDE_VC_EXPORT int cudnnSetTensor4dDescriptorEx(shape *tensor, int type, int n, int c, int h, int w,
                                                int n_step, int c_step, int h_step, int w_step);
TIDE_VC_EXPORT int cudnnSetTensor4dDescriptor(shape *tensor, int format, int type, int n, int c,
                                              int h, int w);
TIDE_VC_EXPORT int cudnnSetTensorNdDescriptorEx(shape *tensor, int format, int type, int n,
                                                const int *lengths);
TIDE_VC_EXPORT int cudnnGetTensor4dDescriptor(const shape *tensor, int *ret_type, int *ret_n,
                                              int *ret_c, int *ret_h, int *ret_w, int *ret_n_step,
                                              int *ret_c_step, int *ret_h_step, int *ret_w_step);
TIDE_VC_EXPORT int cudnnGetTensorSizeInBytes(const shape *tensor, size_t *ret_bytes);
TIDE_VC_EXPORT int cudnnSetFilter4dDescriptor(shape *filter, int type, int format, int k, int c,
                                              int h, int w);
TIDE_VC_EXPORT int cudnnGetFilter4dDescriptor(const shape *filter, int *ret_type, int *ret_format,
                                              int *ret_k, int *ret_c, int *ret_h, int *ret_w);
TIDE_VC_EXPORT int cudnnGetFilterSizeInBytes(const shape *filter, size_t *ret_bytes);
TIDE_VC_EXPORT int cudnnDeriveBNTensorDescriptor(shape *derived, const shape *x, int mode);
TIDE_VC_EXPORT int cudnnDeriveNormTensorDescriptor(shape *scale, shape *mean, const shape *x,
                                                   int mode, int n_groups);
TIDE_VC_EXPORT int cudnnSetConvolutionNdDescriptor(window *convolution, int n, const int *pads,
                                                   const int *steps, const int *dilations, int mode,
                                                   int type);
TIDE_VC_EXPORT int cudnnSetConvolution2dDescriptor(window *convolution, int pad_h, int pad_w,
                                                   int step_h, int step_w, int dilation_h,
                                                   int dilation_w, int mode, int type);
TIDE_VC_EXPORT int cudnnSetConvolutionGroupCount(window *convolution, int n);
TIDE_VC_EXPORT int cudnnGetConvolutionGroupCount(const window *convolution, int *ret_n);
TIDE_VC_EXPORT int cudnnGetConvolutionMathType(const window *convolution, int *ret_math);
TIDE_VC_EXPORT int cudnnGetConvolutionNdForwardOutputDim(const window *convolution, const shape *x,
                                                         const shape *w, int n, int *ret_lengths);
TIDE_VC_EXPORT int cudnnGetConvolution2dForwardOutputDim(const window *convolution, const shape *x,
                                                         const shape *w, int *ret_n, int *ret_c,
                                                         int *ret_h, int *ret_w);
TIDE_VC_EXPORT int cudnnSetPoolingNdDescriptor(window *pooling, int mode, int nan, int n,
                                               const int *lengths, const int *pads,
                                               const int *steps);
TIDE_VC_EXPORT int cudnnSetPooling2dDescriptor(window *pooling, int mode, int nan, int h, int w,
                                               int pad_h, int pad_w, int step_h, int step_w);
TIDE_VC_EXPORT int cudnnGetPoolingNdForwardOutputDim(const window *pooling, const shape *x, int n,
                                                     int *ret_lengths);
TIDE_VC_EXPORT int cudnnGetPooling2dForwardOutputDim(const window *pooling, const shape *x,
                                                     int *ret_n, int *ret_c, int *ret_h,
                                                     int *ret_w);

/* ---- tensors and filters ---- */

int cudnnSetTensor4dDescriptorEx(shape *tensor, int type, int n, int c, int h, int w, int n_step,
                                 int c_step, int h_step, int w_step) {
    const int lengths[] = {n, c, h, w};
    const int steps[] = {n_step, c_step, h_step, w_step};
    return cudnnSetTensorNdDescriptor(tensor, type, FOUR, lengths, steps);
}

/* The order in memory: N, C and the rest, or N, the rest and C. */
int cudnnSetTensorNdDescriptorEx(shape *tensor, int format, int type, int n, const int *lengths) {
    int steps[CUDNN_MOST_DIMENSIONS] = {0};
    int step = 1;
    if (lengths == NULL || n < 2 || n > CUDNN_MOST_DIMENSIONS) {
        return CUDNN_BAD_PARAM;
    }
    if (format == NHWC) {
        steps[1] = 1;
        step = lengths[1];
    }
    for (int i = n - 1; i >= 0; i--) {
        if (format != NHWC || i != 1) {
            steps[i] = step;
            step *= lengths[i];
        }
    }
    return cudnnSetTensorNdDescriptor(tensor, type, n, lengths, steps);
}

int cudnnSetTensor4dDescriptor(shape *tensor, int format, int type, int n, int c, int h, int w) {
    const int lengths[] = {n, c, h, w};
    return cudnnSetTensorNdDescriptorEx(tensor, format, type, FOUR, lengths);
}

int cudnnGetTensor4dDescriptor(const shape *tensor, int *ret_type, int *ret_n, int *ret_c,
                               int *ret_h, int *ret_w, int *ret_n_step, int *ret_c_step,
                               int *ret_h_step, int *ret_w_step) {
    int *const lengths[] = {ret_n, ret_c, ret_h, ret_w};
    int *const steps[] = {ret_n_step, ret_c_step, ret_h_step, ret_w_step};
    *ret_type = tensor->type;
    for (int i = 0; i < FOUR; i++) {
        *lengths[i] = tensor->lengths[i];
        *steps[i] = tensor->steps[i];
    }
    return CUDNN_OK;
}

/* From the first value to the last, in the steps of the tensor. */
int cudnnGetTensorSizeInBytes(const shape *tensor, size_t *ret_bytes) {
    size_t last = 0;
    for (int i = 0; i < tensor->n_dimensions; i++) {
        if (tensor->lengths[i] <= 0 || tensor->steps[i] < 0) {
            return CUDNN_BAD_PARAM;
        }
        last += (size_t)(tensor->lengths[i] - 1) * (size_t)tensor->steps[i];
    }
    *ret_bytes = (last + 1) * tide_vc_cudnn_type_bytes(tensor->type);
    return CUDNN_OK;
}

int cudnnSetFilter4dDescriptor(shape *filter, int type, int format, int k, int c, int h, int w) {
    const int lengths[] = {k, c, h, w};
    return cudnnSetFilterNdDescriptor(filter, type, format, FOUR, lengths);
}

int cudnnGetFilter4dDescriptor(const shape *filter, int *ret_type, int *ret_format, int *ret_k,
                               int *ret_c, int *ret_h, int *ret_w) {
    int *const lengths[] = {ret_k, ret_c, ret_h, ret_w};
    *ret_type = filter->type;
    *ret_format = filter->format;
    for (int i = 0; i < FOUR; i++) {
        *lengths[i] = filter->lengths[i];
    }
    return CUDNN_OK;
}

int cudnnGetFilterSizeInBytes(const shape *filter, size_t *ret_bytes) {
    size_t n = tide_vc_cudnn_type_bytes(filter->type);
    for (int i = 0; i < filter->n_dimensions; i++) {
        n *= filter->lengths[i] > 0 ? (size_t)filter->lengths[i] : 0;
    }
    *ret_bytes = n;
    return CUDNN_OK;
}

/* The statistics of a normalisation: of each value, or of each channel; in single precision unless
 * the tensor is double. */
static int derive(shape *derived, const shape *x, int is_of_channels) {
    enum { FP64 = 1 };
    int lengths[CUDNN_MOST_DIMENSIONS];
    for (int i = 0; i < x->n_dimensions; i++) {
        lengths[i] = i == 0 || (is_of_channels != 0 && i > 1) ? 1 : x->lengths[i];
    }
    return cudnnSetTensorNdDescriptorEx(derived, NCHW, x->type == FP64 ? FP64 : FP32,
                                        x->n_dimensions, lengths);
}

/* Modes above 0 are those by channel. */
int cudnnDeriveBNTensorDescriptor(shape *derived, const shape *x, int mode) {
    return derive(derived, x, mode);
}

int cudnnDeriveNormTensorDescriptor(shape *scale, shape *mean, const shape *x, int mode,
                                    int n_groups) {
    (void)n_groups;
    int status = derive(scale, x, mode);
    return status == CUDNN_OK && mean != NULL ? derive(mean, x, mode) : status;
}

/* ---- windows ---- */

static void copy_window(int *to, const int *from, int n) {
    memcpy(to, from, (size_t)n * sizeof(*to));
}

int cudnnSetConvolutionNdDescriptor(window *convolution, int n, const int *pads, const int *steps,
                                    const int *dilations, int mode, int type) {
    if (n < 0 || n > MOST_WINDOW) {
        return CUDNN_BAD_PARAM;
    }
    convolution->n_dimensions = n;
    convolution->mode = mode;
    convolution->type = type;
    copy_window(convolution->pads, pads, n);
    copy_window(convolution->steps, steps, n);
    copy_window(convolution->dilations, dilations, n);
    return CUDNN_OK;
}

int cudnnSetConvolution2dDescriptor(window *convolution, int pad_h, int pad_w, int step_h,
                                    int step_w, int dilation_h, int dilation_w, int mode,
                                    int type) {
    return cudnnSetConvolutionNdDescriptor(convolution, 2, (const int[]){pad_h, pad_w},
                                           (const int[]){step_h, step_w},
                                           (const int[]){dilation_h, dilation_w}, mode, type);
}

int cudnnSetConvolutionGroupCount(window *convolution, int n) {
    convolution->n_groups = n;
    return CUDNN_OK;
}

int cudnnGetConvolutionGroupCount(const window *convolution, int *ret_n) {
    *ret_n = convolution->n_groups > 0 ? convolution->n_groups : 1;
    return CUDNN_OK;
}

int cudnnGetConvolutionMathType(const window *convolution, int *ret_math) {
    *ret_math = convolution->math;
    return CUDNN_OK;
}

int cudnnSetPoolingNdDescriptor(window *pooling, int mode, int nan, int n, const int *lengths,
                                const int *pads, const int *steps) {
    if (n < 0 || n > MOST_WINDOW) {
        return CUDNN_BAD_PARAM;
    }
    pooling->n_dimensions = n;
    pooling->mode = mode;
    pooling->type = nan;
    copy_window(pooling->lengths, lengths, n);
    copy_window(pooling->pads, pads, n);
    copy_window(pooling->steps, steps, n);
    return CUDNN_OK;
}

int cudnnSetPooling2dDescriptor(window *pooling, int mode, int nan, int h, int w, int pad_h,
                                int pad_w, int step_h, int step_w) {
    return cudnnSetPoolingNdDescriptor(pooling, mode, nan, 2, (const int[]){h, w},
                                       (const int[]){pad_h, pad_w}, (const int[]){step_h, step_w});
}

/* The shape of an output of windows that reach that far along each dimension, the first two left
 * out: 1 + (length + 2 pad - reach) / step windows. */
static int find_output(const window *of, const shape *x, int n_channels, const int *reaches, int n,
                       int *ret_lengths) {
    ret_lengths[0] = x->lengths[0];
    ret_lengths[1] = n_channels;
    for (int i = 2; i < n; i++) {
        int step = of->steps[i - 2];
        int room = x->lengths[i] + 2 * of->pads[i - 2] - reaches[i - 2];
        ret_lengths[i] = step > 0 ? 1 + room / step : 0;
    }
    return CUDNN_OK;
}

int cudnnGetConvolutionNdForwardOutputDim(const window *convolution, const shape *x, const shape *w,
                                          int n, int *ret_lengths) {
    int reaches[MOST_WINDOW];
    if (n < 2 || n > x->n_dimensions || n > w->n_dimensions || n - 2 > MOST_WINDOW) {
        return CUDNN_BAD_PARAM;
    }
    for (int i = 2; i < n; i++) {
        reaches[i - 2] = (w->lengths[i] - 1) * convolution->dilations[i - 2] + 1;
    }
    return find_output(convolution, x, w->lengths[0], reaches, n, ret_lengths);
}

int cudnnGetPoolingNdForwardOutputDim(const window *pooling, const shape *x, int n,
                                      int *ret_lengths) {
    if (n < 2 || n > x->n_dimensions || n - 2 > MOST_WINDOW) {
        return CUDNN_BAD_PARAM;
    }
    return find_output(pooling, x, x->lengths[1], pooling->lengths, n, ret_lengths);
}

static int give4(int status, const int lengths[FOUR], int *ret_n, int *ret_c, int *ret_h,
                 int *ret_w) {
    if (status == CUDNN_OK) {
        *ret_n = lengths[0];
        *ret_c = lengths[1];
        *ret_h = lengths[2];
        *ret_w = lengths[3];
    }
    return status;
}

int cudnnGetConvolution2dForwardOutputDim(const window *convolution, const shape *x, const shape *w,
                                          int *ret_n, int *ret_c, int *ret_h, int *ret_w) {
    int lengths[FOUR] = {0};
    int status = cudnnGetConvolutionNdForwardOutputDim(convolution, x, w, FOUR, lengths);
    return give4(status, lengths, ret_n, ret_c, ret_h, ret_w);
}

int cudnnGetPooling2dForwardOutputDim(const window *pooling, const shape *x, int *ret_n, int *ret_c,
                                      int *ret_h, int *ret_w) {
    int lengths[FOUR] = {0};
    int status = cudnnGetPoolingNdForwardOutputDim(pooling, x, FOUR, lengths);
    return give4(status, lengths, ret_n, ret_c, ret_h, ret_w);
}
/* NOLINTEND(readability-function-size) */

/* Each direction has one algorithm. */
#define HAS_ONE(name)                                                                              \
    TIDE_VC_EXPORT int name(void *handle, int *ret_n);                                             \
    int name(void *handle, int *ret_n) {                                                           \
        (void)handle;                                                                              \
        *ret_n = 1;                                                                                \
        return CUDNN_OK;                                                                           \
    }
HAS_ONE(cudnnGetConvolutionForwardAlgorithmMaxCount)
HAS_ONE(cudnnGetConvolutionBackwardDataAlgorithmMaxCount)
HAS_ONE(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount)
