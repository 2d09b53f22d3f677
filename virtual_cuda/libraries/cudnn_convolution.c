/* cudnn_convolution.c - cuDNN's older interface to convolutions: one algorithm for each direction,
 * whose workspace only the library knows. */
#include "virtual_cuda/libraries/cudnn_internal.h"
#include "virtual_cuda/libraries/stub_internal.h"

/* The algorithms that PyTorch itself takes for granted. */
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

static int one_algorithm(const char *call, int algorithm, int n_wanted, int *ret_n,
                         performance *ret_found) {
    if (n_wanted < 1 || ret_n == NULL || ret_found == NULL) {
        return CUDNN_BAD_PARAM;
    }
    tide_vc_inexact(call, "the size of a convolution's work area is not known; 0 is given");
    /* No timing is meant; a time of 0 would look like a failed trial. */
    *ret_found = (performance){
        .algorithm = algorithm, .ms = 1.0F, .determinism = DETERMINISTIC, .math = TENSOR_OP_MATH};
    *ret_n = 1;
    return CUDNN_OK;
}

/* NOLINTBEGIN(readability-function-size): cuDNN's own signatures. */
#define GETS(name, algorithm)                                                                      \
    TIDE_VC_EXPORT int name(void *handle, const void *a, const void *b, const void *convolution,   \
                            const void *c, int n_wanted, int *ret_n, performance *ret_found);      \
    int name(void *handle, const void *a, const void *b, const void *convolution, const void *c,   \
             int n_wanted, int *ret_n, performance *ret_found) {                                   \
        (void)handle, (void)a, (void)b, (void)convolution, (void)c;                                \
        return one_algorithm(#name, algorithm, n_wanted, ret_n, ret_found);                        \
    }

/* These try the algorithms: what they write is unknown afterwards. */
#define FINDS(name, algorithm)                                                                     \
    TIDE_VC_EXPORT int name(void *handle, const void *a_shape, const void *a, const void *b_shape, \
                            const void *b, const void *convolution, const void *out_shape,         \
                            void *out, int n_wanted, int *ret_n, performance *ret_found,           \
                            void *workspace, size_t workspace_bytes);                              \
    int name(void *handle, const void *a_shape, const void *a, const void *b_shape, const void *b, \
             const void *convolution, const void *out_shape, void *out, int n_wanted, int *ret_n,  \
             performance *ret_found, void *workspace, size_t workspace_bytes) {                    \
        (void)handle, (void)a_shape, (void)a, (void)b_shape, (void)b, (void)convolution;           \
        (void)out_shape, (void)workspace_bytes;                                                    \
        tide_vc_touch(out);                                                                        \
        tide_vc_touch(workspace);                                                                  \
        return one_algorithm(#name, algorithm, n_wanted, ret_n, ret_found);                        \
    }

GETS(cudnnGetConvolutionForwardAlgorithm_v7, FORWARD_PRECOMPUTED)
GETS(cudnnGetConvolutionBackwardDataAlgorithm_v7, BACKWARD_DATA_1)
GETS(cudnnGetConvolutionBackwardFilterAlgorithm_v7, BACKWARD_FILTER_1)
FINDS(cudnnFindConvolutionForwardAlgorithmEx, FORWARD_PRECOMPUTED)
FINDS(cudnnFindConvolutionBackwardDataAlgorithmEx, BACKWARD_DATA_1)
FINDS(cudnnFindConvolutionBackwardFilterAlgorithmEx, BACKWARD_FILTER_1)
/* NOLINTEND(readability-function-size) */
