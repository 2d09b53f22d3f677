/* graphs.h - CUDA graphs. The nodes of a capture are counted; only their events ever run
 * (graph_parts.h).
 *
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_GRAPHS_H
#define TIDE_VIRTUAL_CUDA_GRAPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/order/streams.h"

unsigned long long tide_vc_graph_id(const tide_vc_graph *graph);

/* The number in the launch log of the part that is being captured (graph_parts.h). */
uint32_t tide_vc_graph_part(const tide_vc_graph *graph);

/* Adds an event that the graph will record or wait for; the caller counts the node
 * (tide_vc_stream_work). TIDE_VC_OK or TIDE_VC_OPERATING_SYSTEM. */
int tide_vc_graph_add_event(tide_vc_graph *graph, void *event, bool is_wait);

/* Whether the capture of that number is still in progress. The graph may be gone. */
bool tide_vc_graph_is_capturing(const tide_vc_graph *graph, unsigned long long id);

/* Makes the stream part of the graph's capture, if it is not yet, and lets it wait for an event
 * that was recorded when the graph had `after_nodes` nodes. */
void tide_vc_graph_join(tide_vc_graph *graph, tide_vc_stream *stream, size_t after_nodes);

size_t tide_vc_graph_n_nodes(const tide_vc_graph *graph);

/* cudaGraphExecUpdateResultInfo. */
typedef struct tide_vc_graph_update {
    int result;      /* cudaGraphExecUpdateResult: 0 updated */
    void *node;      /* NULL: nodes are counted, not kept */
    void *from_node; /* likewise */
} tide_vc_graph_update;

/* Updates the executable graph to do what the graph does, if both have the same shape: as many
 * nodes of the same kinds, given to streams that wait for each other in the same way. Otherwise
 * returns TIDE_VC_UPDATE and leaves the executable unchanged. */
int tide_vc_graph_exec_update(void *executable, void *graph, tide_vc_graph_update *ret_update);

#endif
