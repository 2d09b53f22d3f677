/* work_friend.h - the work that cuDNN is asked to do, for the launch log: through its older calls,
 * and through the graphs of its newer interface. Thread-safe, except for two calls about the same
 * descriptor. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_WORK_FRIEND_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUDNN_WORK_FRIEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/wire/run_launches.h"
#include "programs/virtual_cuda/libraries/cudnn/areas_internal.h"
#include "programs/virtual_cuda/libraries/cudnn/cudnn_internal.h"

enum { TIDE_VC_CUDNN_TENSORS = 32 }; /* of a graph; the largest graphs of attention have 16 */

/* A tensor of the graph interface. */
typedef struct tide_vc_cudnn_tensor {
    int64_t id;
    int type, n_dimensions; /* cudnnDataType_t */
    int64_t lengths[CUDNN_MOST_DIMENSIONS];
    uint64_t n_bytes; /* in memory; 0: it exists only inside a kernel, or is one value */
    bool is_channels_last;
} tide_vc_cudnn_tensor;

/* The work that a descriptor describes: a tensor, an operation, or all operations of a graph. */
typedef struct tide_vc_cudnn_work {
    tide_vc_cudnn_tensor tensor;                       /* no dimensions: not a tensor */
    unsigned n_convolutions, n_attentions, n_products; /* operations */
    bool has_band;                                     /* scores are masked along their diagonal */
    bool is_uncertain;                                 /* the mask is not certain */
    /* For a convolution of fp32: the number, from 1 on, of the heuristics whose engines compute it,
     * and whether the engine is the one without tensor cores. 0: there is no choice. */
    uint64_t choice;
    bool is_plain;
    tide_vc_cudnn_problem problem; /* the first convolution; without bytes if there is none */
    tide_run_launch row;           /* of the first convolution, else attention, else product */
    size_t n_tensors;              /* in memory, each once; the first TIDE_VC_CUDNN_TENSORS */
    struct {
        int64_t id;
        uint64_t n_bytes;
    } tensors[TIDE_VC_CUDNN_TENSORS];
} tide_vc_cudnn_work;

struct descriptor;
struct attribute;

/* Call it while the descriptors that the attribute names exist. Without host memory the graph's
 * work becomes unknown. */
void tide_vc_cudnn_note_work(struct attribute *set);
/* Adds an operation to the work of the descriptors it names: the descriptor is complete. The caller
 * releases the result with free(); NULL: no host memory. */
tide_vc_cudnn_work *tide_vc_cudnn_finish_work(const struct descriptor *object);
/* NULL if it has none. */
const tide_vc_cudnn_work *tide_vc_cudnn_work_kept(const struct descriptor *object);

/* The work area of a plan: of its convolution by the rule, and of other graphs, which were never
 * measured, 0 and copies of all tensors in fp32. */
tide_vc_cudnn_area tide_vc_cudnn_work_area(const tide_vc_cudnn_work *of);

/* These add rows. `handle`: of cuDNN, whose first word is the stream. */
void tide_vc_cudnn_log_plan(void *handle, const struct descriptor *plan);

/* `convolution`: its first word is the cudnnMathType_t. */
void tide_vc_cudnn_log_convolution(const void *handle, const char *call, const shape *input,
                                   const shape *filter, const int *convolution, const shape *output,
                                   tide_vc_cudnn_way way);
/* The work area of the same; 0 bytes if a descriptor is missing, or if they do not fit each other.
 */
tide_vc_cudnn_area tide_vc_cudnn_convolution_area(tide_vc_cudnn_way way, const shape *input,
                                                  const shape *filter, const int *convolution,
                                                  const shape *output);
/* Records the work area at that address (areas_internal.h) of such a call. */
void tide_vc_cudnn_record_convolution(const void *handle, const void *area_at, const shape *input,
                                      const shape *filter, const int *convolution,
                                      const shape *output, tide_vc_cudnn_way way);
/* A kernel that reads or writes the whole tensor n_passes times. */
void tide_vc_cudnn_log_passes(const void *handle, const char *call, const shape *tensor,
                              unsigned n_passes);

#endif
