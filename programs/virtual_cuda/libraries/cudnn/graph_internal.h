/* graph_internal.h - descriptors of cuDNN's graph interface: sets of attributes, and a likely upper
 * bound of a graph's workspace. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_GRAPH_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_GRAPH_INTERNAL_H

#include <stdint.h>

#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/work_friend.h"

/* Data kept from the descriptors that an attribute names, because they may be destroyed
 * afterwards. */
typedef struct named {
    uint64_t bound_bytes;  /* of all of them together */
    uint64_t n_values;     /* of the first, if it is a tensor */
    uint64_t first_length; /* of that tensor's dimensions */
    uint64_t value_bytes;  /* of a copy of it */
} named;

typedef struct attribute {
    struct attribute *next; /* owned */
    named named;
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

/* Our own attribute: the likely upper bound of the workspace of the work that a descriptor
 * describes. Finalised descriptors have it, and so do the results of the heuristics. */
enum { TIDE_VC_CUDNN_BOUND = -1 };

/* 0 if it has none. */
uint64_t tide_vc_cudnn_bound_kept(const descriptor *object);

/* The same, computed from the descriptors that it names. */
uint64_t tide_vc_cudnn_bound_now(const descriptor *object);

/* Call it while the descriptors that the attribute names exist. */
void tide_vc_cudnn_note_named(attribute *set);

#endif
