/* graph_internal.h - descriptors of cuDNN's graph interface: sets of attributes, and the
 * bytes that the work area of a graph is likely to stay below. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_GRAPH_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_GRAPH_INTERNAL_H

#include <stdint.h>

#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/work_friend.h"

/* What is kept of the descriptors that an attribute names: they may be destroyed afterwards. */
typedef struct named {
    uint64_t bound_bytes;  /* of all of them */
    uint64_t n_values;     /* of the first, if it is a tensor */
    uint64_t first_length; /* of that tensor's dimensions */
    uint64_t value_bytes;  /* of a copy of it */
} named;

typedef struct attribute {
    struct attribute *next; /* owned */
    named named;
    tide_vc_cudnn_work *work; /* owned; of the descriptors that it names; NULL: none */
    int name, type;           /* cudnnBackendAttributeName_t, cudnnBackendAttributeType_t */
    int64_t n_values;
    unsigned char values[]; /* n_values, of the size of the type */
} attribute;

/* cudnnBackendDescriptor_t */
typedef struct descriptor {
    int type;                 /* cudnnBackendDescriptorType_t */
    attribute *first;         /* owned; the latest first */
    tide_vc_cudnn_work *work; /* owned; of one that is finalised; NULL: none */
} descriptor;

/* NULL: it was not set. */
const attribute *tide_vc_cudnn_find(const descriptor *object, int name);

/* An attribute of our own: the bytes that the work area of what a descriptor stands for is likely
 * to stay below. A finalised descriptor has it, and so have the results of the heuristics. */
enum { TIDE_VC_CUDNN_BOUND = -1 };

/* 0: it has none. */
uint64_t tide_vc_cudnn_bound_kept(const descriptor *object);

/* The same, from what it names. */
uint64_t tide_vc_cudnn_bound_now(const descriptor *object);

/* To be called while the descriptors that it names are there. */
void tide_vc_cudnn_note_named(attribute *set);

#endif
