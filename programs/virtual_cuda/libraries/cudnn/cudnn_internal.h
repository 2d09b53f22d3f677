/* cudnn_internal.h - descriptors of cuDNN that are stored in their handles, and the numbers of its
 * enumerations. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_INTERNAL_H

#include <stdint.h>

#include "programs/virtual_cuda/api/handle.h"

/* cudnnStatus_t */
enum { CUDNN_OK = 0, CUDNN_BAD_PARAM = 2000, CUDNN_NO_HOST_MEMORY = 4002 };

enum { CUDNN_MOST_DIMENSIONS = 8 }; /* CUDNN_DIM_MAX */

/* A tensor's or a filter's descriptor. */
typedef struct shape {
    int type;   /* cudnnDataType_t */
    int format; /* cudnnTensorFormat_t, of filters */
    int n_dimensions;
    int lengths[CUDNN_MOST_DIMENSIONS], steps[CUDNN_MOST_DIMENSIONS]; /* steps: 0 in filters */
} shape;

/* The descriptor of a convolution or of a pooling. */
typedef struct window {
    int math; /* cudnnMathType_t, of convolutions; the first word */
    int n_dimensions;
    int mode;
    int type;       /* cudnnDataType_t of the computation; of pooling: how it treats NaN */
    int n_groups;   /* of convolutions; 0: one */
    int lengths[6]; /* of pooling */
    int pads[6], steps[6], dilations[6];
} window;

/* For tide_vc_inexact_kind, by what is known of the work area. */
#define CUDNN_LIKELY "the workspace is the likely one"
#define CUDNN_ESTIMATED "the workspace is an estimate that was never measured"
#define CUDNN_NEVER_MEASURED "the workspace was never measured and is counted as 0"

_Static_assert(sizeof(window) <= TIDE_VC_HANDLE_BYTES, "a window fits in a handle");
_Static_assert(sizeof(shape) <= TIDE_VC_HANDLE_BYTES, "a shape fits in a handle");

#endif
