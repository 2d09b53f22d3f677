/* cudnn.c - cuDNN: readable descriptors of tensors and filters, the stream of a handle, and the
 * state of dropout. */
#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cudnn.def"

/* cudaDeviceAttr */
enum { MULTIPROCESSORS = 16, THREADS_PER_MULTIPROCESSOR = 39 };
enum { STATE_BYTES = 24 }; /* one generator of cuRAND's default kind; an assumption */

/* The runtime's own functions, which this object also defines. */
int cudaGetDevice(int *ret_device);
int cudaDeviceGetAttribute(int *ret_value, int attribute, int device);

TIDE_VC_EXPORT int cudnnSetStream(void **handle, void *stream);
TIDE_VC_EXPORT int cudnnGetStream(void *const *handle, void **ret_stream);
TIDE_VC_EXPORT int cudnnSetTensorNdDescriptor(shape *tensor, int type, int n, const int *lengths,
                                              const int *steps);
TIDE_VC_EXPORT int cudnnGetTensorNdDescriptor(const shape *tensor, int n_wanted, int *ret_type,
                                              int *ret_n, int *ret_lengths, int *ret_steps);
TIDE_VC_EXPORT int cudnnSetFilterNdDescriptor(shape *filter, int type, int format, int n,
                                              const int *lengths);
TIDE_VC_EXPORT int cudnnGetFilterNdDescriptor(const shape *filter, int n_wanted, int *ret_type,
                                              int *ret_format, int *ret_n, int *ret_lengths);
TIDE_VC_EXPORT int cudnnDropoutGetStatesSize(void *handle, size_t *ret_bytes);

/* The stream is the handle's first word. */
int cudnnSetStream(void **handle, void *stream) {
    *handle = stream;
    return CUDNN_OK;
}

int cudnnGetStream(void *const *handle, void **ret_stream) {
    *ret_stream = *handle;
    return CUDNN_OK;
}

static int set_shape(shape *to, shape head, const int *lengths, const int *steps) {
    if (to == NULL || lengths == NULL || head.n_dimensions < 0 ||
        head.n_dimensions > CUDNN_MOST_DIMENSIONS) {
        return CUDNN_BAD_PARAM;
    }
    for (int i = 0; i < head.n_dimensions; i++) {
        head.lengths[i] = lengths[i];
        head.steps[i] = steps != NULL ? steps[i] : 0;
    }
    *to = head;
    return CUDNN_OK;
}

/* The caller's arrays have n_wanted places; those beyond the descriptor's dimensions become 0. */
static void get_lengths(const int *from, int n_dimensions, int n_wanted, int *ret_values) {
    for (int i = 0; ret_values != NULL && i < n_wanted; i++) {
        ret_values[i] = i < n_dimensions ? from[i] : 0;
    }
}

int cudnnSetTensorNdDescriptor(shape *tensor, int type, int n, const int *lengths,
                               const int *steps) {
    return set_shape(tensor, (shape){.type = type, .n_dimensions = n}, lengths, steps);
}

int cudnnGetTensorNdDescriptor(const shape *tensor, int n_wanted, int *ret_type, int *ret_n,
                               int *ret_lengths, int *ret_steps) {
    if (tensor == NULL) {
        return CUDNN_BAD_PARAM;
    }
    *ret_type = tensor->type;
    *ret_n = tensor->n_dimensions;
    get_lengths(tensor->lengths, tensor->n_dimensions, n_wanted, ret_lengths);
    get_lengths(tensor->steps, tensor->n_dimensions, n_wanted, ret_steps);
    return CUDNN_OK;
}

int cudnnSetFilterNdDescriptor(shape *filter, int type, int format, int n, const int *lengths) {
    return set_shape(filter, (shape){.type = type, .format = format, .n_dimensions = n}, lengths,
                     NULL);
}

int cudnnGetFilterNdDescriptor(const shape *filter, int n_wanted, int *ret_type, int *ret_format,
                               int *ret_n, int *ret_lengths) {
    if (filter == NULL) {
        return CUDNN_BAD_PARAM;
    }
    *ret_type = filter->type;
    *ret_format = filter->format;
    *ret_n = filter->n_dimensions;
    get_lengths(filter->lengths, filter->n_dimensions, n_wanted, ret_lengths);
    return CUDNN_OK;
}

int cudnnDropoutGetStatesSize(void *handle, size_t *ret_bytes) {
    int device = 0, n_multiprocessors = 0, n_threads = 0;
    (void)handle;
    if (cudaGetDevice(&device) != 0 ||
        cudaDeviceGetAttribute(&n_multiprocessors, MULTIPROCESSORS, device) != 0 ||
        cudaDeviceGetAttribute(&n_threads, THREADS_PER_MULTIPROCESSOR, device) != 0) {
        return CUDNN_BAD_PARAM;
    }
    tide_vc_inexact("cudnnDropoutGetStatesSize",
                    "its size is an estimate: one generator for each thread that the card holds");
    *ret_bytes = (size_t)n_multiprocessors * (size_t)n_threads * STATE_BYTES;
    return CUDNN_OK;
}
