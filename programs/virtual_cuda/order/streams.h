/* streams.h - streams, and the graph that a stream is captured into.
 *
 * Kernels never run, so a stream holds nothing but its flags, what it is captured into, and when
 * its work is complete (order.h).
 */
#ifndef TIDE_VIRTUAL_CUDA_STREAMS_H
#define TIDE_VIRTUAL_CUDA_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/virtual_cuda/order/order.h"

typedef struct tide_vc_graph tide_vc_graph;

typedef struct tide_vc_stream {
    unsigned flags;
    int priority;
    int device;
    unsigned long long id;
    tide_vc_graph *capture;     /* borrowed; NULL: it is not being captured */
    uint32_t capture_number;    /* among the streams of the capture, by when they joined it */
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

/* What a node of a graph does. */
typedef enum tide_vc_node {
    TIDE_VC_NODE_KERNEL = 1,
    TIDE_VC_NODE_COPY,
    TIDE_VC_NODE_FILL,
    TIDE_VC_NODE_HOST,
    TIDE_VC_NODE_GRAPH,
    TIDE_VC_NODE_RECORD,
    TIDE_VC_NODE_WAIT
} tide_vc_node;

/* Where the stream is being captured, a node of that kind is added to the graph; else false. */
bool tide_vc_stream_node(void *handle, tide_vc_node kind);

/* Whether any stream of the process is being captured. */
bool tide_vc_is_capturing(void);

#endif
