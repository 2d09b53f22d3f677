/* Streams, events and graphs under the driver's names. */
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/order/graphs.h"
#include "programs/virtual_cuda/api/twins_internal.h"

TIDE_VC_EXPORT int cuStreamCreateWithPriority(void **ret_stream, unsigned flags, int priority) {
    TIDE_VC_TWIN(cudaStreamCreateWithPriority(ret_stream, flags, priority));
}

TIDE_VC_EXPORT int cuStreamGetPriority(void *stream, int *ret_priority) {
    TIDE_VC_TWIN(cudaStreamGetPriority(stream, ret_priority));
}

TIDE_VC_EXPORT int cuStreamGetFlags(void *stream, unsigned *ret_flags) {
    TIDE_VC_TWIN(cudaStreamGetFlags(stream, ret_flags));
}

TIDE_VC_EXPORT int cuStreamGetId(void *stream, unsigned long long *ret_id) {
    TIDE_VC_TWIN(cudaStreamGetId(stream, ret_id));
}

TIDE_VC_EXPORT int cuStreamGetDevice(void *stream, int *ret_device) {
    TIDE_VC_TWIN(cudaStreamGetDevice(stream, ret_device));
}

TIDE_VC_EXPORT int cuStreamWaitEvent(void *stream, void *which, unsigned flags) {
    TIDE_VC_TWIN(cudaStreamWaitEvent(stream, which, flags));
}

TIDE_VC_EXPORT int cuStreamAddCallback(void *stream, void (*function)(void *, int, void *),
                                       void *data, unsigned flags) {
    TIDE_VC_TWIN(cudaStreamAddCallback(stream, function, data, flags));
}

TIDE_VC_EXPORT int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
    TIDE_VC_TWIN(cudaLaunchHostFunc(stream, function, data));
}

TIDE_VC_EXPORT int cuStreamBeginCapture_v2(void *handle, int mode) {
    TIDE_VC_TWIN(cudaStreamBeginCapture(handle, mode));
}

/* The first form has no mode. */
TIDE_VC_EXPORT int cuStreamBeginCapture(void *handle) {
    return cuStreamBeginCapture_v2(handle, 0);
}

TIDE_VC_EXPORT int cuStreamBeginCaptureToGraph(void *handle, void *graph, const void *nodes,
                                               const void *edges, size_t n_nodes, int mode) {
    TIDE_VC_TWIN(cudaStreamBeginCaptureToGraph(handle, graph, nodes, edges, n_nodes, mode));
}

TIDE_VC_EXPORT int cuStreamEndCapture(void *handle, void **ret_graph) {
    TIDE_VC_TWIN(cudaStreamEndCapture(handle, ret_graph));
}

TIDE_VC_EXPORT int cuStreamIsCapturing(void *handle, int *ret_status) {
    TIDE_VC_TWIN(cudaStreamIsCapturing(handle, ret_status));
}

TIDE_VC_EXPORT int cuStreamGetCaptureInfo_v2(void *handle, int *ret_status,
                                             unsigned long long *ret_id, void **ret_graph,
                                             const void **ret_nodes, size_t *ret_n_nodes) {
    TIDE_VC_TWIN(
        cudaStreamGetCaptureInfo_v2(handle, ret_status, ret_id, ret_graph, ret_nodes, ret_n_nodes));
}

TIDE_VC_EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
    TIDE_VC_TWIN(cudaThreadExchangeStreamCaptureMode(mode));
}

TIDE_VC_EXPORT int cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest) {
    TIDE_VC_TWIN(cudaDeviceGetStreamPriorityRange(ret_least, ret_greatest));
}

/* ---- events ---- */

TIDE_VC_EXPORT int cuEventCreate(void **ret_event, unsigned flags) {
    TIDE_VC_TWIN(cudaEventCreateWithFlags(ret_event, flags));
}

TIDE_VC_EXPORT int cuEventRecord(void *which, void *stream) {
    TIDE_VC_TWIN(cudaEventRecord(which, stream));
}

TIDE_VC_EXPORT int cuEventRecordWithFlags(void *which, void *stream, unsigned flags) {
    TIDE_VC_TWIN(cudaEventRecordWithFlags(which, stream, flags));
}

TIDE_VC_EXPORT int cuEventQuery(void *which) {
    TIDE_VC_TWIN(cudaEventQuery(which));
}

TIDE_VC_EXPORT int cuEventSynchronize(void *which) {
    TIDE_VC_TWIN(cudaEventSynchronize(which));
}

TIDE_VC_EXPORT int cuEventDestroy_v2(void *which) {
    TIDE_VC_TWIN(cudaEventDestroy(which));
}

TIDE_VC_EXPORT int cuEventElapsedTime(float *ret_ms, void *begin, void *end) {
    TIDE_VC_TWIN(cudaEventElapsedTime(ret_ms, begin, end));
}

TIDE_VC_EXPORT int cuEventElapsedTime_v2(float *ret_ms, void *begin, void *end) {
    TIDE_VC_TWIN(cudaEventElapsedTime_v2(ret_ms, begin, end));
}

/* ---- graphs ---- */

TIDE_VC_EXPORT int cuGraphCreate(void **ret_graph, unsigned flags) {
    TIDE_VC_TWIN(cudaGraphCreate(ret_graph, flags));
}

TIDE_VC_EXPORT int cuGraphDestroy(void *graph) {
    TIDE_VC_TWIN(cudaGraphDestroy(graph));
}

TIDE_VC_EXPORT int cuGraphExecDestroy(void *which) {
    TIDE_VC_TWIN(cudaGraphExecDestroy(which));
}

TIDE_VC_EXPORT int cuGraphLaunch(void *which, void *stream) {
    TIDE_VC_TWIN(cudaGraphLaunch(which, stream));
}

TIDE_VC_EXPORT int cuGraphUpload(void *which, void *stream) {
    TIDE_VC_TWIN(cudaGraphUpload(which, stream));
}

TIDE_VC_EXPORT int cuGraphGetNodes(void *graph, void **ret_nodes, size_t *n_nodes) {
    TIDE_VC_TWIN(cudaGraphGetNodes(graph, ret_nodes, n_nodes));
}

TIDE_VC_EXPORT int cuGraphInstantiateWithFlags(void **ret_executable, void *graph,
                                               unsigned long long flags) {
    TIDE_VC_TWIN(cudaGraphInstantiateWithFlags(ret_executable, graph, flags));
}

TIDE_VC_EXPORT int cuDeviceGetGraphMemAttribute(int device, int attribute, void *ret_value) {
    TIDE_VC_TWIN(cudaDeviceGetGraphMemAttribute(device, attribute, ret_value));
}

TIDE_VC_EXPORT int cuDeviceSetGraphMemAttribute(int device, int attribute, void *value) {
    TIDE_VC_TWIN(cudaDeviceSetGraphMemAttribute(device, attribute, value));
}

TIDE_VC_EXPORT int cuUserObjectCreate(void **ret_object, void *data, void (*destroy)(void *),
                                      unsigned n_uses, unsigned flags) {
    TIDE_VC_TWIN(cudaUserObjectCreate(ret_object, data, destroy, n_uses, flags));
}

TIDE_VC_EXPORT int cuUserObjectRelease(void *object, unsigned n_uses) {
    TIDE_VC_TWIN(cudaUserObjectRelease(object, n_uses));
}

TIDE_VC_EXPORT int cuUserObjectRetain(void *object, unsigned n_uses) {
    TIDE_VC_TWIN(cudaUserObjectRetain(object, n_uses));
}

TIDE_VC_EXPORT int cuGraphReleaseUserObject(void *graph, void *object, unsigned n_uses) {
    TIDE_VC_TWIN(cudaGraphReleaseUserObject(graph, object, n_uses));
}

TIDE_VC_EXPORT int cuGraphClone(void **ret_clone, void *graph) {
    TIDE_VC_TWIN(cudaGraphClone(ret_clone, graph));
}

TIDE_VC_EXPORT int cuGraphExecGetFlags(void *which, uint64_t *ret_flags) {
    unsigned long long flags = 0;
    int before = cudaPeekAtLastError();
    int status = cudaGraphExecGetFlags(which, &flags);
    tide_vc_set_last_status(before);
    *ret_flags = flags;
    return status;
}

/* Up to CUDA 11: with room for a text about a failure. */
TIDE_VC_EXPORT int cuGraphInstantiate(void **ret_executable, void *graph, void **ret_node,
                                      char *ret_text, size_t n_bytes) {
    if (ret_node != NULL) {
        *ret_node = NULL;
    }
    if (ret_text != NULL && n_bytes > 0) {
        ret_text[0] = '\0';
    }
    TIDE_VC_TWIN(cudaGraphInstantiateWithFlags(ret_executable, graph, 0));
}

TIDE_VC_EXPORT int cuGraphRetainUserObject(void *graph, void *object, unsigned n_uses,
                                           unsigned flags) {
    TIDE_VC_TWIN(cudaGraphRetainUserObject(graph, object, n_uses, flags));
}

TIDE_VC_EXPORT int cuGraphInstantiateWithParams(void **ret_executable, void *graph,
                                                void *parameters) {
    TIDE_VC_TWIN(cudaGraphInstantiateWithParams(ret_executable, graph, parameters));
}

/* The driver's first form, which the runtime had up to CUDA 11: two outputs. */
TIDE_VC_EXPORT int cuGraphExecUpdate(void *executable, void *graph, void **ret_node,
                                     int *ret_result) {
    tide_vc_graph_update update;
    int status = tide_vc_graph_exec_update(executable, graph, &update);
    *ret_node = update.node;
    *ret_result = update.result;
    return status;
}

TIDE_VC_EXPORT int cuGraphExecUpdate_v2(void *executable, void *graph,
                                        tide_vc_graph_update *ret_update) {
    return tide_vc_graph_exec_update(executable, graph, ret_update);
}

/* The first form has three arguments; the third form also returns edges. */
TIDE_VC_EXPORT int cuStreamGetCaptureInfo(void *stream, int *ret_status,
                                          unsigned long long *ret_id) {
    return cuStreamGetCaptureInfo_v2(stream, ret_status, ret_id, NULL, NULL, NULL);
}

TIDE_VC_EXPORT int cuStreamGetCaptureInfo_v3(void *stream, int *ret_status,
                                             unsigned long long *ret_id, void **ret_graph,
                                             const void **ret_nodes, const void **ret_edges,
                                             size_t *ret_n_nodes) {
    if (ret_edges != NULL) {
        *ret_edges = NULL;
    }
    return cuStreamGetCaptureInfo_v2(stream, ret_status, ret_id, ret_graph, ret_nodes, ret_n_nodes);
}

int cuCtxGetCurrent(void **ret_context);

/* Each device has one context. */
TIDE_VC_EXPORT int cuStreamGetCtx(void *stream, void **ret_context) {
    (void)stream;
    return cuCtxGetCurrent(ret_context);
}
