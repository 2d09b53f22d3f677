/* twins_internal.h - functions of the runtime that the driver offers under its own names with the
 * same arguments. A twin calls the runtime's function, and its failure does not become the
 * runtime's last error.
 */
#ifndef TIDE_VIRTUAL_CUDA_TWINS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_TWINS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/status.h"

/* The body of a twin. */
#define TIDE_VC_TWIN(call)                                                                         \
    int before = cudaPeekAtLastError();                                                            \
    int status = (call);                                                                           \
    tide_vc_set_last_status(before);                                                               \
    return status

int cudaDeviceCanAccessPeer(int *ret_can, int device, int peer);
int cudaDeviceGetByPCIBusId(int *ret_device, const char *text);
int cudaDeviceGetDefaultMemPool(void **ret_pool, int device);
int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *ret_value);
int cudaDeviceGetMemPool(void **ret_pool, int device);
int cudaDeviceGetP2PAttribute(int *ret_value, int attribute, int device, int peer);
int cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest);
int cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value);
int cudaDeviceSetMemPool(int device, void *of);
int cudaEventCreateWithFlags(void **ret_event, unsigned flags);
int cudaEventDestroy(void *which);
int cudaEventElapsedTime(float *ret_ms, void *begin, void *end);
int cudaEventElapsedTime_v2(float *ret_ms, void *begin, void *end);
int cudaEventQuery(void *which);
int cudaEventRecord(void *which, void *stream);
int cudaEventRecordWithFlags(void *which, void *stream, unsigned flags);
int cudaEventSynchronize(void *which);
int cudaFreeHost(void *address);
int cudaGraphClone(void **ret_clone, void *graph);
int cudaGraphCreate(void **ret_graph, unsigned flags);
int cudaGraphDestroy(void *graph);
int cudaGraphExecDestroy(void *which);
int cudaGraphExecGetFlags(void *which, unsigned long long *ret_flags);
int cudaGraphGetNodes(void *graph, void **ret_nodes, size_t *n_nodes);
int cudaGraphInstantiateWithFlags(void **ret_executable, void *graph, unsigned long long flags);
int cudaGraphInstantiateWithParams(void **ret_executable, void *graph, void *parameters);
int cudaGraphLaunch(void *which, void *stream);
int cudaGraphReleaseUserObject(void *graph, void *object, unsigned n_uses);
int cudaGraphRetainUserObject(void *graph, void *object, unsigned n_uses, unsigned flags);
int cudaGraphUpload(void *which, void *stream);
int cudaHostAlloc(void **ret_address, size_t n_bytes, unsigned flags);
int cudaHostGetDevicePointer(void **ret_device, void *host, unsigned flags);
int cudaHostGetFlags(unsigned *ret_flags, void *host);
int cudaHostRegister(void *address, size_t n_bytes, unsigned flags);
int cudaHostUnregister(void *address);
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cudaMallocFromPoolAsync(void **ret_address, size_t n_bytes, void *from, void *stream);
int cudaMallocHost(void **ret_address, size_t n_bytes);
int cudaMallocManaged(void **ret_address, size_t n_bytes, unsigned flags);
int cudaMallocPitch(void **ret_address, size_t *ret_pitch, size_t width, size_t height);
int cudaMemPoolCreate(void **ret_pool, const void *properties);
int cudaMemPoolDestroy(void *which);
int cudaMemPoolGetAttribute(void *of, int attribute, void *ret_value);
int cudaMemPoolSetAccess(void *of, const void *access, size_t n);
int cudaMemPoolSetAttribute(void *of, int attribute, void *value);
int cudaMemPoolTrimTo(void *of, size_t n_bytes);
int cudaPeekAtLastError(void);
int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data,
                          unsigned flags);
int cudaStreamBeginCapture(void *handle, int mode);
int cudaStreamBeginCaptureToGraph(void *handle, void *graph, const void *nodes, const void *edges,
                                  size_t n_nodes, int mode);
int cudaStreamCreateWithPriority(void **ret_stream, unsigned flags, int priority);
int cudaStreamEndCapture(void *handle, void **ret_graph);
int cudaStreamGetCaptureInfo_v2(void *handle, int *ret_status, unsigned long long *ret_id,
                                void **ret_graph, const void **ret_nodes, size_t *ret_n_nodes);
int cudaStreamGetDevice(void *stream, int *ret_device);
int cudaStreamGetFlags(void *stream, unsigned *ret_flags);
int cudaStreamGetId(void *stream, unsigned long long *ret_id);
int cudaStreamGetPriority(void *stream, int *ret_priority);
int cudaStreamIsCapturing(void *handle, int *ret_status);
int cudaStreamUpdateCaptureDependencies(void *handle, void *nodes, const void *edges,
                                        size_t n_nodes, unsigned flags);
int cudaStreamWaitEvent(void *stream, void *which, unsigned flags);
int cudaThreadExchangeStreamCaptureMode(int *mode);
int cudaUserObjectCreate(void **ret_object, void *data, void (*destroy)(void *), unsigned n_uses,
                         unsigned flags);
int cudaUserObjectRelease(void *object, unsigned n_uses);
int cudaUserObjectRetain(void *object, unsigned n_uses);

#endif
