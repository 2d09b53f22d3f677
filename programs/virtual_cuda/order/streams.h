/* streams.h - streams, and the graph that a stream is captured into.
 *
 * Kernels never run, so a stream holds only its flags, its capture and the completion of its work
 * (order.h).
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
    tide_vc_graph *capture;     /* borrowed; NULL if it is not being captured */
    uint32_t capture_number;    /* among the streams of the capture, in the order they joined it */
    tide_vc_timeline *timeline; /* NULL: completes immediately, or a special handle */
} tide_vc_stream;

/* Handles that no call creates. A program compiled with --default-stream per-thread calls functions
 * with the suffix _ptsz or _ptds, for which NULL also is the stream of the thread. */
enum { TIDE_VC_LEGACY = 1, TIDE_VC_PER_THREAD = 2 };

/* The stream of a handle. NULL and TIDE_VC_LEGACY are the null stream, which is never captured. The
 * stream of a thread is valid until the thread ends. */
tide_vc_stream *tide_vc_stream_of(void *handle);

/* The device of a stream; for the handles above, the current device. */
int tide_vc_stream_device(const void *handle);

/* The timeline of a stream; for the handles above, that of the current device. */
tide_vc_timeline *tide_vc_stream_timeline(void *handle);

/* Until the next call with `false`, NULL is the stream of the calling thread. */
void tide_vc_stream_null_is_of_thread(bool is_of_thread);

/* Adds work to the stream: a node, if it is being captured. */
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

/* Adds a node of that kind to the graph if the stream is being captured; otherwise returns
 * false. */
bool tide_vc_stream_node(void *handle, tide_vc_node kind);

/* Whether any stream of the process is being captured. */
bool tide_vc_is_capturing(void);

#endif
