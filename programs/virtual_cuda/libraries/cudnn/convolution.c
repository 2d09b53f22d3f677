/* convolution.c - cuDNN's older interface to convolutions: one algorithm for each direction,
 * with the likely work area (areas_internal.h). */
#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

/* The algorithms that PyTorch itself assumes. */
enum { FORWARD_PRECOMPUTED = 1, BACKWARD_DATA_1 = 1, BACKWARD_FILTER_1 = 1 };
enum { TENSOR_OP_MATH = 1, DETERMINISTIC = 1 };

/* cudnnConvolutionFwdAlgoPerf_t; those of the backward directions have the same layout. */
typedef struct performance {
    int algorithm, status;
    float ms;
    size_t workspace_bytes;
    int determinism, math;
    int reserved[3];
} performance;
_Static_assert(sizeof(performance) == 48, "cudnnConvolutionFwdAlgoPerf_t has 48 bytes");

TIDE_VC_EXPORT int cudnnSetConvolutionMathType(int *convolution, int math);

/* The type is the descriptor's first word; 0 is the library's default. */
int cudnnSetConvolutionMathType(int *convolution, int math) {
    *convolution = math;
    return CUDNN_OK;
}

/* The order of the three descriptors: output x, w, y; gradients w, dy, dx and x, dy, dw. Returns
 * the likely work area. */
static uint64_t area_of(const char *call, tide_vc_cudnn_way way, const shape *a, const shape *b,
                        const int *convolution, const shape *c) {
    tide_vc_cudnn_area area =
        way == TIDE_VC_CUDNN_OUTPUT ? tide_vc_cudnn_convolution_area(way, a, b, convolution, c)
        : way == TIDE_VC_CUDNN_DATA ? tide_vc_cudnn_convolution_area(way, c, a, convolution, b)
                                    : tide_vc_cudnn_convolution_area(way, a, c, convolution, b);
    tide_vc_cudnn_say_area(call, &area);
    return area.likely_bytes;
}

static int one_algorithm(int algorithm, uint64_t area_bytes, int n_wanted, int *ret_n,
                         performance *ret_found) {
    if (n_wanted < 1 || ret_n == NULL || ret_found == NULL) {
        return CUDNN_BAD_PARAM;
    }
    /* Not a timing; a time of 0 would look like a failed trial. */
    *ret_found = (performance){.algorithm = algorithm,
                               .ms = 1.0F,
                               .workspace_bytes = (size_t)area_bytes,
                               .determinism = DETERMINISTIC,
                               .math = TENSOR_OP_MATH};
    *ret_n = 1;
    return CUDNN_OK;
}

/* NOLINTBEGIN(readability-function-size): cuDNN's own signatures. */
#define GETS(name, way, algorithm)                                                                 \
    TIDE_VC_EXPORT int name(void *handle, const shape *a, const shape *b, const int *convolution,  \
                            const shape *c, int n_wanted, int *ret_n, performance *ret_found);     \
    int name(void *handle, const shape *a, const shape *b, const int *convolution, const shape *c, \
             int n_wanted, int *ret_n, performance *ret_found) {                                   \
        (void)handle;                                                                              \
        uint64_t n_bytes = area_of(#name, TIDE_VC_CUDNN_##way, a, b, convolution, c);              \
        return one_algorithm(algorithm, n_bytes, n_wanted, ret_n, ret_found);                      \
    }

/* These try the algorithms, so their output becomes unknown. One whose area is larger than the
 * caller's does not run; another needs none. */
#define FINDS(name, way, algorithm)                                                                \
    TIDE_VC_EXPORT int name(void *handle, const shape *a_shape, const void *a,                     \
                            const shape *b_shape, const void *b, const int *convolution,           \
                            const shape *out_shape, void *out, int n_wanted, int *ret_n,           \
                            performance *ret_found, void *workspace, size_t workspace_bytes);      \
    int name(void *handle, const shape *a_shape, const void *a, const shape *b_shape,              \
             const void *b, const int *convolution, const shape *out_shape, void *out,             \
             int n_wanted, int *ret_n, performance *ret_found, void *workspace,                    \
             size_t workspace_bytes) {                                                             \
        (void)handle, (void)a, (void)b;                                                            \
        tide_vc_touch(out);                                                                        \
        tide_vc_touch(workspace);                                                                  \
        uint64_t n_bytes =                                                                         \
            area_of(#name, TIDE_VC_CUDNN_##way, a_shape, b_shape, convolution, out_shape);         \
        n_bytes = n_bytes <= workspace_bytes ? n_bytes : 0;                                        \
        return one_algorithm(algorithm, n_bytes, n_wanted, ret_n, ret_found);                      \
    }

#define MEASURES(name, way)                                                                        \
    TIDE_VC_EXPORT int name(void *handle, const shape *a, const shape *b, const int *convolution,  \
                            const shape *c, int algorithm, size_t *ret_bytes);                     \
    int name(void *handle, const shape *a, const shape *b, const int *convolution, const shape *c, \
             int algorithm, size_t *ret_bytes) {                                                   \
        (void)handle, (void)algorithm;                                                             \
        if (ret_bytes == NULL) {                                                                   \
            return CUDNN_BAD_PARAM;                                                                \
        }                                                                                          \
        *ret_bytes = (size_t)area_of(#name, TIDE_VC_CUDNN_##way, a, b, convolution, c);            \
        return CUDNN_OK;                                                                           \
    }

GETS(cudnnGetConvolutionForwardAlgorithm_v7, OUTPUT, FORWARD_PRECOMPUTED)
GETS(cudnnGetConvolutionBackwardDataAlgorithm_v7, DATA, BACKWARD_DATA_1)
GETS(cudnnGetConvolutionBackwardFilterAlgorithm_v7, FILTER, BACKWARD_FILTER_1)
/* Without data the library uses its own. */
GETS(cudnnFindConvolutionForwardAlgorithm, OUTPUT, FORWARD_PRECOMPUTED)
GETS(cudnnFindConvolutionBackwardDataAlgorithm, DATA, BACKWARD_DATA_1)
GETS(cudnnFindConvolutionBackwardFilterAlgorithm, FILTER, BACKWARD_FILTER_1)
FINDS(cudnnFindConvolutionForwardAlgorithmEx, OUTPUT, FORWARD_PRECOMPUTED)
FINDS(cudnnFindConvolutionBackwardDataAlgorithmEx, DATA, BACKWARD_DATA_1)
FINDS(cudnnFindConvolutionBackwardFilterAlgorithmEx, FILTER, BACKWARD_FILTER_1)
MEASURES(cudnnGetConvolutionForwardWorkspaceSize, OUTPUT)
MEASURES(cudnnGetConvolutionBackwardDataWorkspaceSize, DATA)
MEASURES(cudnnGetConvolutionBackwardFilterWorkspaceSize, FILTER)
/* NOLINTEND(readability-function-size) */
