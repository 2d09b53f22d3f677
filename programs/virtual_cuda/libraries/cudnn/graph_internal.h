/* graph_internal.h - descriptors of cuDNN's graph interface: sets of attributes. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_GRAPH_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_GRAPH_INTERNAL_H

#include <stdint.h>

#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/work_friend.h"

typedef struct attribute {
    struct attribute *next;   /* owned */
    tide_vc_cudnn_work *work; /* owned; of the descriptors that it names; NULL if there is none */
    int name, type;           /* cudnnBackendAttributeName_t, cudnnBackendAttributeType_t */
    int64_t n_values;
    unsigned char values[]; /* n_values values of the type's size */
} attribute;

/* cudnnBackendDescriptor_t */
typedef struct descriptor {
    int type;                 /* cudnnBackendDescriptorType_t */
    attribute *first;         /* owned; the latest first */
    tide_vc_cudnn_work *work; /* owned; of a finalised descriptor; otherwise NULL */
} descriptor;

/* NULL if it was not set. */
const attribute *tide_vc_cudnn_find(const descriptor *object, int name);

#endif
