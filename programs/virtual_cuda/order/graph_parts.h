/* graph_parts.h - the parts of a graph between its events. The events are nodes that a capture
 * records or waits for with cudaEventRecordExternal and cudaEventWaitExternal.
 *
 * Each part has its own number in the launch log. Launching the graph launches the parts in the
 * order of the capture with their events between them, so an event gets the time at which the card
 * reaches it in that launch. A graph without such events is one part.
 *
 * The caller serializes access.
 */
#ifndef TIDE_VIRTUAL_CUDA_GRAPH_PARTS_H
#define TIDE_VIRTUAL_CUDA_GRAPH_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/launches/launch_log.h"

/* What ends a part. */
typedef struct tide_vc_graph_event {
    void *event;   /* kept (tide_vc_event_keep) */
    uint32_t part; /* the number of the part before the event */
    bool is_wait;  /* the next part waits for the event; false: the event is recorded */
} tide_vc_graph_event;

/* The properties that must be equal to update one graph to another. Hashes in the order of the
 * capture. */
typedef struct tide_vc_graph_shape {
    size_t n_nodes;
    size_t n_kernels;  /* of these */
    uint64_t topology; /* of the streams that got the nodes, and what these streams waited for */
    uint64_t kinds;    /* of the nodes */
} tide_vc_graph_shape;

typedef struct tide_vc_graph_parts {
    tide_vc_graph_event *events; /* owned */
    size_t n, room;
    uint32_t last; /* the part after the last event */
    tide_vc_graph_shape shape;
} tide_vc_graph_parts;

/* Begins with one part. The caller calls tide_vc_graph_parts_fini. */
void tide_vc_graph_parts_init(tide_vc_graph_parts *parts);
void tide_vc_graph_parts_fini(tide_vc_graph_parts *parts);

/* Adds a node of a stream of the capture, or a stream's wait for the capture's first `after_nodes`
 * nodes. Streams are numbered in the order in which they joined. */
void tide_vc_graph_shape_node(tide_vc_graph_shape *shape, uint32_t stream, int kind);
void tide_vc_graph_shape_wait(tide_vc_graph_shape *shape, uint32_t stream, size_t after_nodes);

/* A unique number for a part or a capture. */
uint32_t tide_vc_graph_number(void);

/* Ends the last part with an event and begins a new one. TIDE_VC_OK or TIDE_VC_OPERATING_SYSTEM. */
int tide_vc_graph_parts_cut(tide_vc_graph_parts *parts, void *event, bool is_wait);

/* Copies the parts for an executable graph. TIDE_VC_OK or TIDE_VC_OPERATING_SYSTEM. */
int tide_vc_graph_parts_copy(tide_vc_graph_parts *ret_parts, const tide_vc_graph_parts *from);

/* Launches the graph on the stream, a handle, for the call that began with `entry`. If the stream
 * is being captured, the graph and its events become part of that capture. TIDE_VC_OK or
 * TIDE_VC_OPERATING_SYSTEM. */
int tide_vc_graph_parts_launch(const tide_vc_graph_parts *parts, tide_vc_entry entry, void *stream);

#endif
