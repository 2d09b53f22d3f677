#include "programs/virtual_cuda/order/graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/assert.h"
#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/order/graph_parts.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"

#define GRAPH "a graph"      /* for messages about host memory */
enum { MAX_CAPTURED = 256 }; /* streams that are part of captures at the same time */

struct tide_vc_graph {
    unsigned long long id;
    uint32_t n_streams;        /* that joined its captures */
    tide_vc_graph_parts parts; /* guarded by the lock */
};

/* cudaStreamCaptureStatus. */
enum { NOT_CAPTURING = 0, CAPTURING = 1 };

/* The lock guards all but the atomic member. */
static struct captures {
    tide_vc_stream *captured[MAX_CAPTURED]; /* those with a capture */
    size_t n_captured;
    atomic_size_t n_capturing; /* the same, for readers without the lock */
} captures;
TIDE_VC_LOCK(lock, NULL);

bool tide_vc_is_capturing(void) {
    return atomic_load_explicit(&captures.n_capturing, memory_order_relaxed) > 0;
}

unsigned long long tide_vc_graph_id(const tide_vc_graph *graph) {
    return graph->id;
}

uint32_t tide_vc_graph_part(const tide_vc_graph *graph) {
    pthread_mutex_lock(&lock);
    uint32_t part = graph->parts.last;
    pthread_mutex_unlock(&lock);
    return part;
}

int tide_vc_graph_add_event(tide_vc_graph *graph, void *event, bool is_wait) {
    pthread_mutex_lock(&lock);
    int status = tide_vc_graph_parts_cut(&graph->parts, event, is_wait);
    pthread_mutex_unlock(&lock);
    return status;
}

bool tide_vc_graph_is_capturing(const tide_vc_graph *graph, unsigned long long id) {
    bool goes_on = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < captures.n_captured && !goes_on; i++) {
        goes_on = captures.captured[i]->capture == graph && graph->id == id;
    }
    pthread_mutex_unlock(&lock);
    return goes_on;
}

void tide_vc_graph_join(tide_vc_graph *graph, tide_vc_stream *stream, size_t after_nodes) {
    pthread_mutex_lock(&lock);
    if (stream->capture == NULL && captures.n_captured < MAX_CAPTURED) {
        captures.captured[captures.n_captured++] = stream;
        atomic_store(&captures.n_capturing, captures.n_captured);
        stream->capture = graph;
        stream->capture_number = graph->n_streams++;
    }
    tide_vc_graph_shape_wait(&graph->parts.shape, stream->capture_number, after_nodes);
    pthread_mutex_unlock(&lock);
}

/* Removes all streams from the capture. */
static void leave(const tide_vc_graph *graph) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < captures.n_captured;) {
        if (captures.captured[i]->capture == graph) {
            captures.captured[i]->capture = NULL;
            captures.captured[i] = captures.captured[--captures.n_captured];
        } else {
            i++;
        }
    }
    atomic_store(&captures.n_capturing, captures.n_captured);
    pthread_mutex_unlock(&lock);
}

size_t tide_vc_graph_n_nodes(const tide_vc_graph *graph) {
    pthread_mutex_lock(&lock);
    size_t n_nodes = graph->parts.shape.n_nodes;
    pthread_mutex_unlock(&lock);
    return n_nodes;
}

bool tide_vc_stream_node(void *handle, tide_vc_node kind) {
    const tide_vc_stream *stream = tide_vc_is_capturing() ? tide_vc_stream_of(handle) : NULL;
    if (stream == NULL || stream->capture == NULL) {
        return false;
    }
    pthread_mutex_lock(&lock);
    TIDE_ASSERT(stream->capture_number < stream->capture->n_streams);
    tide_vc_graph_shape_node(&stream->capture->parts.shape, stream->capture_number, (int)kind);
    pthread_mutex_unlock(&lock);
    return true;
}

void tide_vc_stream_work(void *handle) {
    if (!tide_vc_stream_node(handle, TIDE_VC_NODE_KERNEL)) {
        tide_vc_timeline_work(tide_vc_stream_timeline(handle));
    }
}

static tide_vc_graph *new_graph(void) {
    tide_vc_graph *made = calloc(1, sizeof(*made));
    if (made != NULL) {
        tide_vc_graph_parts_init(&made->parts);
        made->id = made->parts.last;
    }
    return made;
}

TIDE_VC_EXPORT int cudaGraphCreate(void **ret_graph, unsigned flags) {
    (void)flags;
    *ret_graph = new_graph();
    return tide_vc_fail(*ret_graph != NULL ? TIDE_VC_OK : tide_vc_host_failed(GRAPH));
}

static void destroy_graph(tide_vc_graph *graph) {
    tide_vc_graph_parts_fini(&graph->parts);
    free(graph);
}

TIDE_VC_EXPORT int cudaGraphDestroy(void *graph) {
    if (graph != NULL) {
        leave(graph);
        destroy_graph(graph);
    }
    return TIDE_VC_OK;
}

static int begin(void *handle, tide_vc_graph *graph) {
    tide_vc_stream *stream = tide_vc_stream_of(handle);
    if ((uintptr_t)handle <= TIDE_VC_LEGACY || stream->capture != NULL) {
        return TIDE_VC_CAPTURE_UNSUPPORTED;
    }
    tide_vc_graph_join(graph, stream, 0);
    return stream->capture == graph ? TIDE_VC_OK : tide_vc_host_failed("more than 256 captures");
}

TIDE_VC_EXPORT int cudaStreamBeginCapture(void *handle, int mode) {
    (void)mode;
    tide_vc_graph *graph = new_graph();
    if (graph == NULL) {
        return tide_vc_fail(tide_vc_host_failed(GRAPH));
    }
    int status = begin(handle, graph);
    if (status != TIDE_VC_OK) {
        destroy_graph(graph);
    }
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaStreamBeginCaptureToGraph(void *handle, void *graph, const void *nodes,
                                                 const void *edges, size_t n_nodes, int mode) {
    (void)nodes;
    (void)edges;
    (void)n_nodes;
    (void)mode;
    return tide_vc_fail(begin(handle, graph));
}

TIDE_VC_EXPORT int cudaStreamEndCapture(void *handle, void **ret_graph) {
    tide_vc_graph *graph = tide_vc_stream_of(handle)->capture;
    *ret_graph = graph;
    if (graph == NULL) {
        return tide_vc_fail(TIDE_VC_ILLEGAL_STATE);
    }
    leave(graph);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamIsCapturing(void *handle, int *ret_status) {
    *ret_status = tide_vc_stream_of(handle)->capture != NULL ? CAPTURING : NOT_CAPTURING;
    return TIDE_VC_OK;
}

/* A NULL output is not wanted by the caller. */
static void capture_info(void *handle, int *ret_status, unsigned long long *ret_id,
                         void **ret_graph) {
    const tide_vc_graph *graph = tide_vc_stream_of(handle)->capture;
    if (ret_status != NULL) {
        *ret_status = graph != NULL ? CAPTURING : NOT_CAPTURING;
    }
    if (ret_id != NULL) {
        *ret_id = graph != NULL ? graph->id : 0;
    }
    if (ret_graph != NULL) {
        *ret_graph = tide_vc_stream_of(handle)->capture;
    }
}

/* CUDA 13 passes seven arguments. CUDA 11 and 12 pass three and leave the other registers
 * undefined, so those must not be touched. */
TIDE_VC_EXPORT int cudaStreamGetCaptureInfo(void *handle, int *ret_status,
                                            unsigned long long *ret_id, void **ret_graph,
                                            const void **ret_nodes, const void **ret_edges,
                                            size_t *ret_n_nodes) {
    bool is_long = tide_vc_runtime_major() >= 13;
    capture_info(handle, ret_status, ret_id, is_long ? ret_graph : NULL);
    if (is_long && ret_nodes != NULL) {
        *ret_nodes = NULL;
    }
    if (is_long && ret_edges != NULL) {
        *ret_edges = NULL;
    }
    if (is_long && ret_n_nodes != NULL) {
        *ret_n_nodes = 0;
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamGetCaptureInfo_v2(void *handle, int *ret_status,
                                               unsigned long long *ret_id, void **ret_graph,
                                               const void **ret_nodes, size_t *ret_n_nodes) {
    capture_info(handle, ret_status, ret_id, ret_graph);
    if (ret_nodes != NULL) {
        *ret_nodes = NULL;
    }
    if (ret_n_nodes != NULL) {
        *ret_n_nodes = 0;
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamGetCaptureInfo_v3(void *handle, int *ret_status,
                                               unsigned long long *ret_id, void **ret_graph,
                                               const void **ret_nodes, const void **ret_edges,
                                               size_t *ret_n_nodes) {
    if (ret_edges != NULL) {
        *ret_edges = NULL;
    }
    return cudaStreamGetCaptureInfo_v2(handle, ret_status, ret_id, ret_graph, ret_nodes,
                                       ret_n_nodes);
}

TIDE_VC_EXPORT int cudaStreamUpdateCaptureDependencies(void *handle, void *nodes, const void *edges,
                                                       size_t n_nodes, unsigned flags) {
    (void)handle;
    (void)nodes;
    (void)edges;
    (void)n_nodes;
    (void)flags;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaThreadExchangeStreamCaptureMode(int *mode) {
    static _Thread_local int current;
    int before = current;
    current = *mode;
    *mode = before;
    return TIDE_VC_OK;
}

/* The parts as they were when the graph was instantiated: later captures into the graph do not
 * change them. */
typedef struct executable {
    tide_vc_graph_parts parts;
    unsigned long long flags; /* as the program passed them */
} executable;

static int copy_parts(const tide_vc_graph *graph, tide_vc_graph_parts *ret_parts) {
    pthread_mutex_lock(&lock);
    int status = tide_vc_graph_parts_copy(ret_parts, &graph->parts);
    pthread_mutex_unlock(&lock);
    return status;
}

TIDE_VC_EXPORT int cudaGraphInstantiateWithFlags(void **ret_executable, void *graph,
                                                 unsigned long long flags) {
    executable *made = malloc(sizeof(*made));
    if (made == NULL) {
        return tide_vc_fail(tide_vc_host_failed(GRAPH));
    }
    int status = copy_parts(graph, &made->parts);
    if (status != TIDE_VC_OK) {
        free(made);
        return tide_vc_fail(status);
    }
    made->flags = flags;
    *ret_executable = made;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaGraphInstantiate(void **ret_executable, void *graph,
                                        unsigned long long flags) {
    return cudaGraphInstantiateWithFlags(ret_executable, graph, flags);
}

/* cudaGraphInstantiateParams, and CUDA_GRAPH_INSTANTIATE_PARAMS of the driver. */
typedef struct instantiation {
    unsigned long long flags;
    void *upload_stream;
    void *failed_node;
    int result; /* cudaGraphInstantiateResult: 0 success, 1 an error */
} instantiation;

TIDE_VC_EXPORT int cudaGraphInstantiateWithParams(void **ret_executable, void *graph,
                                                  void *parameters) {
    instantiation *of = parameters;
    int status = cudaGraphInstantiateWithFlags(ret_executable, graph, of->flags);
    of->failed_node = NULL;
    of->result = status != TIDE_VC_OK;
    return status;
}

TIDE_VC_EXPORT int cudaGraphExecGetFlags(void *which, unsigned long long *ret_flags) {
    *ret_flags = ((const executable *)which)->flags;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaGraphClone(void **ret_clone, void *graph) {
    tide_vc_graph *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return tide_vc_fail(tide_vc_host_failed(GRAPH));
    }
    int status = copy_parts(graph, &made->parts);
    if (status != TIDE_VC_OK) {
        free(made);
        return tide_vc_fail(status);
    }
    made->id = tide_vc_graph_number();
    *ret_clone = made;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaGraphExecDestroy(void *which) {
    executable *of = which;
    if (of != NULL) {
        tide_vc_graph_parts_fini(&of->parts);
    }
    free(of);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaGraphLaunch(void *which, void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    tide_vc_known_forget_all(); /* its kernels may write anywhere */
    if (!tide_vc_stream_node(stream, TIDE_VC_NODE_GRAPH)) {
        tide_vc_timeline_work(tide_vc_stream_timeline(stream));
    }
    const tide_vc_graph_parts *parts = &((const executable *)which)->parts;
    tide_vc_count_launches(tide_vc_device(), parts->shape.n_kernels);
    return tide_vc_fail(tide_vc_graph_parts_launch(parts, entry, stream));
}

/* cudaGraphExecUpdateResult, the values used here. */
enum { UPDATED = 0, TOPOLOGY_CHANGED = 2, NODE_TYPE_CHANGED = 3 };

int tide_vc_graph_exec_update(void *which, void *graph, tide_vc_graph_update *ret_update) {
    executable *of = which;
    tide_vc_graph_parts made;
    pthread_mutex_lock(&lock);
    const tide_vc_graph_parts *wanted = &((const tide_vc_graph *)graph)->parts;
    bool is_alike = of->parts.shape.n_nodes == wanted->shape.n_nodes &&
                    of->parts.shape.topology == wanted->shape.topology;
    bool is_same = is_alike && of->parts.shape.kinds == wanted->shape.kinds;
    int status = is_same ? tide_vc_graph_parts_copy(&made, wanted) : TIDE_VC_UPDATE;
    pthread_mutex_unlock(&lock);
    if (status == TIDE_VC_OK) {
        tide_vc_graph_parts_fini(&of->parts);
        of->parts = made;
    }
    *ret_update = (tide_vc_graph_update){.result = !is_alike  ? TOPOLOGY_CHANGED
                                                   : !is_same ? NODE_TYPE_CHANGED
                                                              : UPDATED};
    return status;
}

/* CUDA 12 and 13 have one output, a struct; CUDA 11 has two: a node and the result. */
TIDE_VC_EXPORT int cudaGraphExecUpdate(void *which, void *graph, void *ret_update,
                                       int *ret_result) {
    tide_vc_graph_update update;
    int status = tide_vc_graph_exec_update(which, graph, &update);
    if (tide_vc_runtime_major() >= 12) {
        *(tide_vc_graph_update *)ret_update = update;
    } else {
        *(void **)ret_update = update.node;
        *ret_result = update.result;
    }
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaGraphUpload(void *which, void *stream) {
    (void)which;
    (void)stream;
    return TIDE_VC_OK;
}

/* Nodes are numbers from 1 on, because programs only count them. */
TIDE_VC_EXPORT int cudaGraphGetNodes(void *graph, void **ret_nodes, size_t *n_nodes) {
    size_t n = tide_vc_graph_n_nodes(graph);
    for (size_t i = 0; ret_nodes != NULL && i < *n_nodes; i++) {
        ret_nodes[i] = i < n ? (void *)(uintptr_t)(i + 1) : NULL;
    }
    *n_nodes = n;
    return TIDE_VC_OK;
}

/* CUDA 13 passes edges before the count. */
TIDE_VC_EXPORT int cudaGraphNodeGetDependencies(void *node, void **ret_nodes, void *third,
                                                size_t *fourth) {
    (void)node;
    (void)ret_nodes;
    *(tide_vc_runtime_major() >= 13 ? fourth : (size_t *)third) = 0;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaGraphAddNode(void **ret_node, void *graph, const void *nodes,
                                    const void *edges, size_t n_nodes, void *parameters) {
    (void)ret_node;
    (void)graph;
    (void)nodes;
    (void)edges;
    (void)n_nodes;
    (void)parameters;
    tide_vc_refused("cudaGraphAddNode", "nodes that a program adds itself are not simulated");
    return tide_vc_fail(TIDE_VC_NOT_SUPPORTED);
}

TIDE_VC_EXPORT int cudaGraphConditionalHandleCreate(unsigned long long *ret_handle, void *graph,
                                                    unsigned value, unsigned flags) {
    (void)ret_handle;
    (void)graph;
    (void)value;
    (void)flags;
    tide_vc_refused("cudaGraphConditionalHandleCreate", "conditional nodes are not simulated");
    return tide_vc_fail(TIDE_VC_NOT_SUPPORTED);
}

TIDE_VC_EXPORT int cudaGraphDebugDotPrint(void *graph, const char *path, unsigned flags) {
    (void)graph;
    (void)path;
    (void)flags;
    tide_vc_refused("cudaGraphDebugDotPrint", "the nodes of a graph are counted, not kept");
    return tide_vc_fail(TIDE_VC_NOT_SUPPORTED);
}

TIDE_VC_EXPORT int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *ret_value) {
    (void)device;
    (void)attribute;
    *(uint64_t *)ret_value = 0;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value) {
    (void)device;
    (void)attribute;
    (void)value;
    return TIDE_VC_OK;
}
