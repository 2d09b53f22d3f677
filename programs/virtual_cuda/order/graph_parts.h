/* graph_parts.h - the parts into which the events of a graph cut it: those that a capture records
 * or waits for with cudaEventRecordExternal and cudaEventWaitExternal, which are nodes of the
 * graph.
 *
 * Each part has a number of its own in the launch log. A launch of the graph launches the parts in
 * the order of the capture, with their events between them, so that an event has the time at which
 * the card comes there in that launch. A graph without such events is one part.
 *
 * The caller keeps two threads from the same parts.
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
    uint32_t part; /* the number of the part that it ends */
    bool is_wait;  /* what follows waits for the event; false: the event is recorded */
} tide_vc_graph_event;

/* What two graphs have in common where one can be updated to the other. Hashes in the order of the
 * capture. */
typedef struct tide_vc_graph_shape {
    size_t n_nodes;
    uint64_t topology; /* of which streams the nodes were given to, and what these waited for */
    uint64_t kinds;    /* of the nodes */
} tide_vc_graph_shape;

typedef struct tide_vc_graph_parts {
    tide_vc_graph_event *events; /* owned */
    size_t n, room;
    uint32_t last; /* the part behind the last event */
    tide_vc_graph_shape shape;
} tide_vc_graph_parts;

/* Begins with one part. The caller ends it with tide_vc_graph_parts_fini. */
void tide_vc_graph_parts_init(tide_vc_graph_parts *parts);
void tide_vc_graph_parts_fini(tide_vc_graph_parts *parts);

/* A node was given to a stream of the capture; one of its streams waits for what the capture had
 * after so many nodes. Streams are numbered by when they joined. */
void tide_vc_graph_shape_node(tide_vc_graph_shape *shape, uint32_t stream, int kind);
void tide_vc_graph_shape_wait(tide_vc_graph_shape *shape, uint32_t stream, size_t after_nodes);

/* The number of a part, or of a capture, which no other has. */
uint32_t tide_vc_graph_number(void);

/* An event ends the last part, and a new one begins. TIDE_VC_OK or TIDE_VC_OPERATING_SYSTEM. */
int tide_vc_graph_parts_cut(tide_vc_graph_parts *parts, void *event, bool is_wait);

/* The same parts, for a graph that is made executable. TIDE_VC_OK or TIDE_VC_OPERATING_SYSTEM. */
int tide_vc_graph_parts_copy(tide_vc_graph_parts *ret_parts, const tide_vc_graph_parts *from);

/* The graph is launched on the stream, a handle, by the call that began with `entry`. Where the
 * stream is being captured, the graph and its events become a part of that capture. TIDE_VC_OK or
 * TIDE_VC_OPERATING_SYSTEM. */
int tide_vc_graph_parts_launch(const tide_vc_graph_parts *parts, tide_vc_entry entry, void *stream);

#endif
