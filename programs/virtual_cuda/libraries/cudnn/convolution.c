/* convolution.c - cuDNN's older interface to convolutions: one algorithm for each direction,
 * whose workspace only the library knows. */
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

/* The order of the three descriptors: forward x, w, y; backward w, dy, dx and x, dy, dw. */
typedef enum direction { FORWARD, BACKWARD_DATA, BACKWARD_FILTER } direction;

static void say_unknown(const char *call, direction way, const shape *a, const shape *b,
                        const shape *c) {
    uint64_t bound = way == FORWARD         ? tide_vc_cudnn_convolution_bound(a, b, c)
                     : way == BACKWARD_DATA ? tide_vc_cudnn_convolution_bound(c, a, b)
                                            : tide_vc_cudnn_convolution_bound(a, c, b);
    tide_vc_inexact_bytes(call, CUDNN_NOT_KNOWN, bound);
}

static int one_algorithm(int algorithm, int n_wanted, int *ret_n, performance *ret_found) {
    if (n_wanted < 1 || ret_n == NULL || ret_found == NULL) {
        return CUDNN_BAD_PARAM;
    }
    /* Not a timing; a time of 0 would look like a failed trial. */
    *ret_found = (performance){
        .algorithm = algorithm, .ms = 1.0F, .determinism = DETERMINISTIC, .math = TENSOR_OP_MATH};
    *ret_n = 1;
    return CUDNN_OK;
}

/* NOLINTBEGIN(readability-function-size): cuDNN's own signatures. */
#define GETS(name, way, algorithm)                                                                 \
    TIDE_VC_EXPORT int name(void *handle, const shape *a, const shape *b, const void *convolution, \
                            const shape *c, int n_wanted, int *ret_n, performance *ret_found);     \
    int name(void *handle, const shape *a, const shape *b, const void *convolution,                \
             const shape *c, int n_wanted, int *ret_n, performance *ret_found) {                   \
        (void)handle, (void)convolution;                                                           \
        say_unknown(#name, way, a, b, c);                                                          \
        return one_algorithm(algorithm, n_wanted, ret_n, ret_found);                               \
    }

/* These try the algorithms, so their output becomes unknown. */
#define FINDS(name, way, algorithm)                                                                \
    TIDE_VC_EXPORT int name(void *handle, const shape *a_shape, const void *a,                     \
                            const shape *b_shape, const void *b, const void *convolution,          \
                            const shape *out_shape, void *out, int n_wanted, int *ret_n,           \
                            performance *ret_found, void *workspace, size_t workspace_bytes);      \
    int name(void *handle, const shape *a_shape, const void *a, const shape *b_shape,              \
             const void *b, const void *convolution, const shape *out_shape, void *out,            \
             int n_wanted, int *ret_n, performance *ret_found, void *workspace,                    \
             size_t workspace_bytes) {                                                             \
        (void)handle, (void)a, (void)b, (void)convolution, (void)workspace_bytes;                  \
        tide_vc_touch(out);                                                                        \
        tide_vc_touch(workspace);                                                                  \
        say_unknown(#name, way, a_shape, b_shape, out_shape);                                      \
        return one_algorithm(algorithm, n_wanted, ret_n, ret_found);                               \
    }

#define MEASURES(name, way)                                                                        \
    TIDE_VC_EXPORT int name(void *handle, const shape *a, const shape *b, const void *convolution, \
                            const shape *c, int algorithm, size_t *ret_bytes);                     \
    int name(void *handle, const shape *a, const shape *b, const void *convolution,                \
             const shape *c, int algorithm, size_t *ret_bytes) {                                   \
        (void)handle, (void)convolution, (void)algorithm;                                          \
        if (ret_bytes == NULL) {                                                                   \
            return CUDNN_BAD_PARAM;                                                                \
        }                                                                                          \
        say_unknown(#name, way, a, b, c);                                                          \
        *ret_bytes = 0;                                                                            \
        return CUDNN_OK;                                                                           \
    }

GETS(cudnnGetConvolutionForwardAlgorithm_v7, FORWARD, FORWARD_PRECOMPUTED)
GETS(cudnnGetConvolutionBackwardDataAlgorithm_v7, BACKWARD_DATA, BACKWARD_DATA_1)
GETS(cudnnGetConvolutionBackwardFilterAlgorithm_v7, BACKWARD_FILTER, BACKWARD_FILTER_1)
/* Without data the library uses its own. */
GETS(cudnnFindConvolutionForwardAlgorithm, FORWARD, FORWARD_PRECOMPUTED)
GETS(cudnnFindConvolutionBackwardDataAlgorithm, BACKWARD_DATA, BACKWARD_DATA_1)
GETS(cudnnFindConvolutionBackwardFilterAlgorithm, BACKWARD_FILTER, BACKWARD_FILTER_1)
FINDS(cudnnFindConvolutionForwardAlgorithmEx, FORWARD, FORWARD_PRECOMPUTED)
FINDS(cudnnFindConvolutionBackwardDataAlgorithmEx, BACKWARD_DATA, BACKWARD_DATA_1)
FINDS(cudnnFindConvolutionBackwardFilterAlgorithmEx, BACKWARD_FILTER, BACKWARD_FILTER_1)
MEASURES(cudnnGetConvolutionForwardWorkspaceSize, FORWARD)
MEASURES(cudnnGetConvolutionBackwardDataWorkspaceSize, BACKWARD_DATA)
MEASURES(cudnnGetConvolutionBackwardFilterWorkspaceSize, BACKWARD_FILTER)
/* NOLINTEND(readability-function-size) */
