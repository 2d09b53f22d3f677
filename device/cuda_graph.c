/* cuda_graph.c - the graphs of the cuda device. */
#include "device/cuda_friend.h"

#if TIDEMARK_HAVE_CUDA

#include <cuda_runtime_api.h>

static cudaStream_t native(tide_stream stream) {
    return (cudaStream_t)(uintptr_t)stream; /* NOLINT(performance-no-int-to-ptr): a handle */
}

static cudaGraphExec_t instance(tide_graph graph) {
    return (cudaGraphExec_t)(uintptr_t)graph; /* NOLINT(performance-no-int-to-ptr): a handle */
}

static tide_status begin(tide_device *device, tide_error *error) {
    return tide_device_cuda_begin((tide_device_cuda *)device, error);
}

/* Relaxed, because the cache may allocate a segment meanwhile, which the two other modes forbid. */
tide_status tide_device_cuda_graph_begin(tide_device *device, tide_stream stream,
                                         tide_error *error) {
    TIDE_TRY(begin(device, error));
    return tide_device_cuda_answer(
        device, "cudaStreamBeginCapture",
        (int)cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeRelaxed), error);
}

tide_status tide_device_cuda_graph_end(tide_device *device, tide_stream stream,
                                       tide_graph *ret_graph, tide_error *error) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t made = NULL;
    TIDE_TRY(begin(device, error));
    TIDE_TRY(tide_device_cuda_answer(device, "cudaStreamEndCapture",
                                     (int)cudaStreamEndCapture(native(stream), &graph), error));
    tide_status status = tide_device_cuda_answer(device, "cudaGraphInstantiate",
                                                 (int)cudaGraphInstantiate(&made, graph, 0), error);
    (void)cudaGraphDestroy(graph); /* the instance stays; no caller could act on a failure */
    if (status == TIDE_OK) {
        *ret_graph = (tide_graph)(uintptr_t)made;
    }
    return status;
}

tide_status tide_device_cuda_graph_launch(tide_device *device, tide_graph graph, tide_stream stream,
                                          tide_error *error) {
    TIDE_TRY(begin(device, error));
    return tide_device_cuda_answer(device, "cudaGraphLaunch",
                                   (int)cudaGraphLaunch(instance(graph), native(stream)), error);
}

void tide_device_cuda_graph_destroy(tide_device *device, tide_graph graph) {
    if (begin(device, NULL) == TIDE_OK) {
        (void)cudaGraphExecDestroy(instance(graph));
        (void)cudaGetLastError();
    }
}

#endif
