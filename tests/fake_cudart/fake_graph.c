/* fake_graph.c - CUDA graphs of the fake runtime: launches on a stream that is captured are kept,
 * not run; the launch of a graph runs them in their order.
 *
 * As in the real one, waiting for a captured stream, or for the whole device meanwhile, fails and
 * ends the capture; a launch on another stream is no part of the graph and runs at once. Unlike the
 * real one it captures launches and copies on the device alone: what reads or writes the host on a
 * captured stream fails. */
#include "fake_cudart/fake_graph.h"

#include <stdlib.h>

#include "cuda_emulator/device_memory.h"
#include "fake_cudart/fake_copies.h"
#include "fake_cudart/fake_internal.h"

typedef struct node {
    struct node *next; /* owned list */
    int (*run)(void *work);
    void (*release)(void *work);
    void *work; /* owned */
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

/* Likewise; one capture at a time. */
static struct {
    cudaStream_t stream;      /* borrowed; NULL: none is captured */
    struct CUgraph_st *graph; /* borrowed; the capture is its one owner */
    bool is_invalid;          /* a call that no capture permits was made */
} capture;

static void free_graph(struct CUgraph_st *graph) {
    while (graph->first != NULL) {
        node *first = graph->first;
        graph->first = first->next;
        first->release(first->work);
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
    capture.stream = NULL;
    capture.graph = NULL;
    capture.is_invalid = false;
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
    return capture.stream != NULL && capture.stream == stream;
}

cudaError_t tide_fake_graph_forbid(cudaStream_t stream, bool all) {
    if (capture.stream == NULL || (!all && capture.stream != stream)) {
        return cudaSuccess;
    }
    capture.is_invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

bool tide_fake_graph_keep(int (*run)(void *work), void (*release)(void *work), void *work) {
    node *made = malloc(sizeof(*made));
    if (made == NULL) {
        capture.is_invalid = true;
        return false;
    }
    *made = (node){.run = run, .release = release, .work = work};
    *capture.graph->end = made;
    capture.graph->end = &made->next;
    return true;
}

bool tide_device_captures(const void *stream, int (*run)(void *work), void (*release)(void *work),
                          void *work) {
    tide_fake_lock();
    bool is_captured = capture.stream != NULL && capture.stream == stream;
    bool is_kept = is_captured && tide_fake_graph_keep(run, release, work);
    (void)tide_fake_leave_beside(cudaSuccess);
    return is_kept;
}

static cudaError_t begin_capture(cudaStream_t stream) {
    if (stream == NULL) { /* the legacy stream orders all others */
        return cudaErrorStreamCaptureUnsupported;
    }
    if (capture.stream != NULL) {
        return cudaErrorIllegalState;
    }
    struct CUgraph_st *graph = calloc(1, sizeof(*graph));
    if (graph == NULL) {
        return cudaErrorMemoryAllocation;
    }
    *graph = (struct CUgraph_st){.next = live.graphs, .n_owners = 1, .has_handle = true};
    graph->end = &graph->first;
    live.graphs = graph;
    capture.stream = stream;
    capture.graph = graph;
    capture.is_invalid = false;
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

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *ret_graph) {
    if (!tide_fake_graph_has(stream)) {
        return cudaErrorIllegalState;
    }
    bool is_invalid = capture.is_invalid;
    *ret_graph = is_invalid ? NULL : capture.graph;
    if (is_invalid) {
        release_graph(capture.graph);
    }
    forget_capture();
    return is_invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
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

/* The nodes take the lock themselves. */
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
    const node *next = result == cudaSuccess ? graphExec->graph->first : NULL;
    for (; next != NULL && result == cudaSuccess; next = next->next) {
        result = (cudaError_t)next->run(next->work);
    }
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
