/* fake_graph.c - CUDA graphs of the fake runtime: launches on a stream that is captured are kept,
 * not run; the launch of a graph runs them. Launches of one stream keep their order, and run late
 * if the stream is late (fake_queue.h); only events order those of two streams.
 *
 * As in the real runtime, waiting for a captured stream, or for the whole device meanwhile, fails
 * and ends the capture; a stream that waits for an event of a captured one is captured with it, and
 * must be waited for before the end; a launch on another stream is not part of the graph and runs
 * immediately. Unlike the real runtime it captures only launches and copies on the device:
 * operations on host memory fail on a captured stream. */
#include "fake_cudart/fake_graph.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_emulator/device_memory.h"
#include "fake_cudart/fake_copies.h"
#include "fake_cudart/fake_internal.h"

enum { MOST_STREAMS = 4 }; /* in one capture */

typedef enum node_kind { NODE_WORK = 0, NODE_RECORD, NODE_WAIT } node_kind;

typedef struct node {
    struct node *next; /* owned list */
    node_kind kind;
    cudaStream_t stream;       /* of the capture */
    tide_fake_work work;       /* of NODE_WORK; owned */
    uint64_t number;           /* of a record, or of the one that is waited for */
    size_t seen[MOST_STREAMS]; /* of a record: as its stream had it then */
} node;

struct CUgraph_st {
    struct CUgraph_st *next; /* owned list of the live ones */
    node *first, **end;      /* owned list, in the order of the calls */
    int n_owners;            /* the graph's handle and those of its instances */
    bool has_handle;         /* not destroyed yet */
};

struct CUgraphExec_st {
    struct CUgraphExec_st *next; /* likewise */
    struct CUgraph_st *graph;    /* shared with its handle */
};

/* Guarded by the runtime's lock. */
static struct {
    struct CUgraph_st *graphs;
    struct CUgraphExec_st *execs;
} live;

typedef struct captured_stream {
    cudaStream_t stream;
    size_t seen[MOST_STREAMS]; /* how many nodes of each stream are known to run before its next */
} captured_stream;

/* Likewise; one capture at a time. */
static struct {
    captured_stream streams[MOST_STREAMS]; /* the first is the one that it began on */
    size_t n_streams;                      /* 0: there is no capture */
    struct CUgraph_st *graph;              /* borrowed; the capture is its only owner */
    bool is_invalid;                       /* a call that no capture permits was made */
} capture;

static captured_stream *find_captured(cudaStream_t stream) {
    for (size_t i = 0; i < capture.n_streams; i++) {
        if (capture.streams[i].stream == stream) {
            return &capture.streams[i];
        }
    }
    return NULL;
}

static void free_graph(struct CUgraph_st *graph) {
    while (graph->first != NULL) {
        node *first = graph->first;
        graph->first = first->next;
        if (first->kind == NODE_WORK) {
            first->work.release(first->work.work);
        }
        free(first);
    }
    free(graph);
}

static void release_graph(struct CUgraph_st *graph) {
    struct CUgraph_st **link = &live.graphs;
    if (graph == NULL || --graph->n_owners > 0) {
        return;
    }
    while (*link != graph) {
        link = &(*link)->next;
    }
    *link = graph->next;
    free_graph(graph);
}

static void forget_capture(void) {
    memset(&capture, 0, sizeof(capture));
}

void tide_fake_graph_clear(void) {
    forget_capture();
    while (live.execs != NULL) {
        struct CUgraphExec_st *exec = live.execs;
        live.execs = exec->next;
        free(exec);
    }
    while (live.graphs != NULL) {
        struct CUgraph_st *graph = live.graphs;
        live.graphs = graph->next;
        free_graph(graph);
    }
}

bool tide_fake_graph_has(cudaStream_t stream) {
    return find_captured(stream) != NULL;
}

cudaError_t tide_fake_graph_forbid(cudaStream_t stream, bool all) {
    if (capture.n_streams == 0 || (!all && find_captured(stream) == NULL)) {
        return cudaSuccess;
    }
    capture.is_invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

/* Appends a node of the captured stream; NULL, and the capture is invalid: the host has no memory.
 */
static node *append(captured_stream *on, node_kind kind) {
    node *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        capture.is_invalid = true;
        return NULL;
    }
    on->seen[on - capture.streams]++;
    made->kind = kind;
    made->stream = on->stream;
    memcpy(made->seen, on->seen, sizeof(made->seen));
    *capture.graph->end = made;
    capture.graph->end = &made->next;
    return made;
}

bool tide_fake_graph_keep(cudaStream_t stream, tide_fake_work work) {
    node *made = append(find_captured(stream), NODE_WORK);
    if (made != NULL) {
        made->work = work;
    }
    return made != NULL;
}

void tide_fake_graph_record(cudaStream_t stream, uint64_t number) {
    node *made = append(find_captured(stream), NODE_RECORD);
    if (made != NULL) {
        made->number = number;
    }
}

/* A stream that joins the capture has no earlier node yet. */
static captured_stream *take_in(cudaStream_t stream) {
    captured_stream *on = find_captured(stream);
    if (on == NULL && capture.n_streams < MOST_STREAMS) {
        on = &capture.streams[capture.n_streams++];
        *on = (captured_stream){.stream = stream};
    }
    return on;
}

cudaError_t tide_fake_graph_wait(cudaStream_t stream, uint64_t number) {
    const node *record = capture.n_streams > 0 ? capture.graph->first : NULL;
    while (record != NULL && (record->kind != NODE_RECORD || record->number != number)) {
        record = record->next;
    }
    captured_stream *on = record != NULL ? take_in(stream) : NULL;
    node *made = on != NULL ? append(on, NODE_WAIT) : NULL;
    if (made == NULL) {
        capture.is_invalid = true;
        return cudaErrorStreamCaptureIsolation;
    }
    made->number = number;
    for (size_t i = 0; i < MOST_STREAMS; i++) {
        on->seen[i] = record->seen[i] > on->seen[i] ? record->seen[i] : on->seen[i];
    }
    return cudaSuccess;
}

bool tide_device_keeps(const void *stream, int (*run)(void *work), void (*release)(void *work),
                       void *work) {
    const tide_fake_work kept = {run, release, work};
    cudaStream_t of = (cudaStream_t)(uintptr_t)stream;
    tide_fake_lock();
    bool is_kept =
        tide_fake_graph_has(of) ? tide_fake_graph_keep(of, kept) : tide_fake_queue_keep(of, kept);
    (void)tide_fake_leave_beside(cudaSuccess);
    return is_kept;
}

static cudaError_t begin_capture(cudaStream_t stream) {
    if (stream == NULL) { /* the legacy stream orders all others */
        return cudaErrorStreamCaptureUnsupported;
    }
    if (capture.n_streams > 0) {
        return cudaErrorIllegalState;
    }
    struct CUgraph_st *graph = calloc(1, sizeof(*graph));
    if (graph == NULL) {
        return cudaErrorMemoryAllocation;
    }
    *graph = (struct CUgraph_st){.next = live.graphs, .n_owners = 1, .has_handle = true};
    graph->end = &graph->first;
    live.graphs = graph;
    capture.streams[capture.n_streams++].stream = stream;
    capture.graph = graph;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    (void)mode;
    cudaError_t result = tide_fake_enter("cudaStreamBeginCapture");
    if (result == cudaSuccess) {
        result = tide_fake_check_stream(stream);
    }
    return tide_fake_leave(result == cudaSuccess ? begin_capture(stream) : result);
}

/* Whether the stream on which the capture began comes after all nodes of all other streams. */
static bool is_joined(void) {
    for (size_t i = 1; i < capture.n_streams; i++) {
        if (capture.streams[0].seen[i] < capture.streams[i].seen[i]) {
            return false;
        }
    }
    return true;
}

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *ret_graph) {
    if (capture.n_streams == 0 || capture.streams[0].stream != stream) {
        return cudaErrorIllegalState;
    }
    cudaError_t result = capture.is_invalid ? cudaErrorStreamCaptureInvalidated
                         : !is_joined()     ? cudaErrorStreamCaptureUnjoined
                                            : cudaSuccess;
    *ret_graph = result == cudaSuccess ? capture.graph : NULL;
    if (result != cudaSuccess) {
        release_graph(capture.graph);
    }
    forget_capture();
    return result;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph) {
    cudaError_t result = tide_fake_enter("cudaStreamEndCapture");
    return tide_fake_leave(result == cudaSuccess ? end_capture(stream, pGraph) : result);
}

static cudaError_t check_graph(cudaGraph_t graph) {
    const struct CUgraph_st *found = live.graphs;
    while (found != NULL && found != graph) {
        found = found->next;
    }
    return found != NULL && found->has_handle
               ? cudaSuccess
               : tide_fake_mistake(cudaErrorInvalidValue, "%p is not a live graph", (void *)graph);
}

static cudaError_t check_exec(cudaGraphExec_t exec) {
    const struct CUgraphExec_st *found = live.execs;
    while (found != NULL && found != exec) {
        found = found->next;
    }
    return found != NULL ? cudaSuccess
                         : tide_fake_mistake(cudaErrorInvalidValue,
                                             "%p is not a live instance of a graph", (void *)exec);
}

static cudaError_t instantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph) {
    struct CUgraphExec_st *exec = malloc(sizeof(*exec));
    if (exec == NULL) {
        return cudaErrorMemoryAllocation;
    }
    *exec = (struct CUgraphExec_st){.next = live.execs, .graph = graph};
    live.execs = exec;
    graph->n_owners++;
    tide_fake_cudart_locked()->n_graphs++;
    *ret_exec = exec;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags) {
    (void)flags;
    cudaError_t result = tide_fake_enter("cudaGraphInstantiate");
    if (result == cudaSuccess) {
        result = check_graph(graph);
    }
    return tide_fake_leave(result == cudaSuccess ? instantiate(pGraphExec, graph) : result);
}

static int run_node(const node *of) {
    const tide_fake_work borrowed = {of->work.run, NULL, of->work.work};
    if (of->kind == NODE_WORK) {
        return tide_fake_queue_do(of->stream, borrowed);
    }
    if (of->kind == NODE_RECORD) {
        tide_fake_queue_record(of->stream, of->number);
    } else {
        tide_fake_queue_wait(of->stream, of->number);
    }
    return 0;
}

/* The nodes take the lock themselves. Nothing else runs during a graph here. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
    cudaError_t result = tide_fake_enter("cudaGraphLaunch");
    if (result == cudaSuccess) {
        result = check_exec(graphExec);
    }
    if (result == cudaSuccess) {
        result = tide_fake_check_stream(stream);
    }
    if (result == cudaSuccess) {
        tide_fake_copies_submit(); /* the stream's copies come before the graph */
        tide_fake_cudart_locked()->n_graph_launches++;
    }
    result = tide_fake_leave(result);
    tide_fake_queue_finish(NULL, true);
    const node *next = result == cudaSuccess ? graphExec->graph->first : NULL;
    for (; next != NULL && result == cudaSuccess; next = next->next) {
        result = (cudaError_t)run_node(next);
    }
    tide_fake_queue_finish(NULL, true);
    return result;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
    cudaError_t result = tide_fake_enter("cudaGraphExecDestroy");
    if (result == cudaSuccess) {
        result = check_exec(graphExec);
    }
    if (result == cudaSuccess) {
        struct CUgraphExec_st **link = &live.execs;
        while (*link != graphExec) {
            link = &(*link)->next;
        }
        *link = graphExec->next;
        release_graph(graphExec->graph);
        free(graphExec);
        tide_fake_cudart_locked()->n_graphs--;
    }
    return tide_fake_leave(result);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    cudaError_t result = tide_fake_enter("cudaGraphDestroy");
    if (result == cudaSuccess) {
        result = check_graph(graph);
    }
    if (result == cudaSuccess) {
        graph->has_handle = false;
        release_graph(graph);
    }
    return tide_fake_leave(result);
}
