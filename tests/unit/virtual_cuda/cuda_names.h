/* cuda_names.h - prototypes of the functions under test, as in NVIDIA's headers, with plain
 * types. */
#ifndef TIDE_TESTS_CUDA_NAMES_H
#define TIDE_TESTS_CUDA_NAMES_H

#include <stddef.h>
#include <stdint.h>

typedef struct pointer_attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    long reserved[8]; /* CUDA 13 */
} pointer_attributes;

int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaFree(void *address);
int cudaMemGetInfo(size_t *ret_free, size_t *ret_total);
int cudaHostAlloc(void **ret_address, size_t n_bytes, unsigned flags);
int cudaFreeHost(void *address);
int cudaHostRegister(void *address, size_t n_bytes, unsigned flags);
int cudaHostUnregister(void *address);
int cudaPointerGetAttributes(pointer_attributes *ret, const void *address);
int cudaMemcpy(void *to, const void *from, size_t n_bytes, int kind);
int cudaMemset(void *to, int value, size_t n_bytes);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int status);

int cuMemAddressReserve(uint64_t *ret_address, size_t n_bytes, size_t alignment, uint64_t wanted,
                        unsigned long long flags);
int cuMemAddressFree(uint64_t address, size_t n_bytes);
int cuMemCreate(unsigned long long *ret_handle, size_t n_bytes, const int *properties,
                unsigned long long flags);
int cuMemRelease(unsigned long long handle);
int cuMemMap(uint64_t address, size_t n_bytes, size_t offset, unsigned long long handle,
             unsigned long long flags);
int cuMemUnmap(uint64_t address, size_t n_bytes);

int cudaGetDeviceCount(int *ret_n);
int cudaSetDevice(int device);
int cudaGetDevice(int *ret_device);
int cudaGetDeviceProperties_v2(void *ret_properties, int device);
int cudaDeviceGetAttribute(int *ret_value, int attribute, int device);
int cudaDeviceGetLimit(size_t *ret_value, int limit);
int cudaDeviceSetLimit(int limit, size_t value);
int cuCtxSetLimit(int limit, size_t value);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_n, const void *kernel, int n_threads,
                                                  size_t shared_bytes);
int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **ret_handle);
int nvmlDeviceGetP2PStatus(const void *handle, const void *other, int index, int *ret_status);
int nvmlDeviceGetMemoryInfo(const void *handle, unsigned long long *ret);

int cudaStreamCreateWithFlags(void **ret_stream, unsigned flags);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **ret_graph);
int cudaStreamIsCapturing(void *stream, int *ret_status);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaGraphGetNodes(void *graph, void **ret_nodes, size_t *n_nodes);
int cudaGraphDestroy(void *graph);
int cudaGraphInstantiate(void **ret_executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);
int cudaGraphExecDestroy(void *executable);
int cudaEventCreateWithFlags(void **ret_event, unsigned flags);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags);
int cudaEventSynchronize(void *event);
int cudaEventQuery(void *event);
int cudaEventElapsedTime(float *ret_ms, void *begin, void *end);
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data);

#endif
