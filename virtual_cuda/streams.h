/* streams.h - streams, and the graph that a stream is captured into.
 *
 * Kernels are complete when they are launched, so a stream holds nothing but its flags and what it
 * is captured into.
 */
#ifndef TIDE_VIRTUAL_CUDA_STREAMS_H
#define TIDE_VIRTUAL_CUDA_STREAMS_H

#include <stdbool.h>

typedef struct tide_vc_graph tide_vc_graph;

typedef struct tide_vc_stream {
    unsigned flags;
    int priority;
    int device;
    unsigned long long id;
    tide_vc_graph *capture; /* borrowed; NULL: it is not being captured */
} tide_vc_stream;

/* The stream behind a handle; the null stream and the two special handles (1 and 2) are one stream
 * for each thread, which is never captured. */
tide_vc_stream *tide_vc_stream_of(void *handle);

/* The device of a stream; of the special handles the current one. */
int tide_vc_stream_device(const void *handle);

/* Counts a node where the stream is being captured. */
void tide_vc_stream_work(void *handle);

/* Whether any stream of the process is being captured. */
bool tide_vc_is_capturing(void);

#endif
