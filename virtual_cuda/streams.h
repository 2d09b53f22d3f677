/* streams.h - streams, and the graph that a stream is captured into.
 *
 * Kernels never run, so a stream holds nothing but its flags, what it is captured into, and when
 * its work is complete (order.h).
 */
#ifndef TIDE_VIRTUAL_CUDA_STREAMS_H
#define TIDE_VIRTUAL_CUDA_STREAMS_H

#include <stdbool.h>

#include "virtual_cuda/order.h"

typedef struct tide_vc_graph tide_vc_graph;

typedef struct tide_vc_stream {
    unsigned flags;
    int priority;
    int device;
    unsigned long long id;
    tide_vc_graph *capture;     /* borrowed; NULL: it is not being captured */
    tide_vc_timeline *timeline; /* NULL: complete at once, or a special handle */
} tide_vc_stream;

/* The stream behind a handle; the null stream and the two special handles (1 and 2) are one stream
 * for each thread, which is never captured. */
tide_vc_stream *tide_vc_stream_of(void *handle);

/* The device of a stream; of the special handles the current one. */
int tide_vc_stream_device(const void *handle);

/* When the work of a stream is complete; of the special handles: of the current device's. */
tide_vc_timeline *tide_vc_stream_timeline(void *handle);

/* Something is given to the stream to do: a node, where it is being captured. */
void tide_vc_stream_work(void *handle);

/* Whether any stream of the process is being captured. */
bool tide_vc_is_capturing(void);

#endif
