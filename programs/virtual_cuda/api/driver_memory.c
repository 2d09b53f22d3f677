/* Pools, host memory and managed memory under the driver's names. */
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/twins_internal.h"

TIDE_VC_EXPORT int cuDeviceGetDefaultMemPool(void **ret_pool, int device) {
    TIDE_VC_TWIN(cudaDeviceGetDefaultMemPool(ret_pool, device));
}

TIDE_VC_EXPORT int cuDeviceGetMemPool(void **ret_pool, int device) {
    TIDE_VC_TWIN(cudaDeviceGetMemPool(ret_pool, device));
}

TIDE_VC_EXPORT int cuDeviceSetMemPool(int device, void *of) {
    TIDE_VC_TWIN(cudaDeviceSetMemPool(device, of));
}

TIDE_VC_EXPORT int cuMemPoolDestroy(void *which) {
    TIDE_VC_TWIN(cudaMemPoolDestroy(which));
}

TIDE_VC_EXPORT int cuMemPoolTrimTo(void *of, size_t n_bytes) {
    TIDE_VC_TWIN(cudaMemPoolTrimTo(of, n_bytes));
}

TIDE_VC_EXPORT int cuMemPoolSetAccess(void *of, const void *access, size_t n) {
    TIDE_VC_TWIN(cudaMemPoolSetAccess(of, access, n));
}

int cudaMemPoolGetAccess(int *ret_flags, void *which, const int *where);

TIDE_VC_EXPORT int cuMemPoolGetAccess(int *ret_flags, void *which, const int *where) {
    TIDE_VC_TWIN(cudaMemPoolGetAccess(ret_flags, which, where));
}

TIDE_VC_EXPORT int cuMemPoolSetAttribute(void *of, int attribute, void *value) {
    TIDE_VC_TWIN(cudaMemPoolSetAttribute(of, attribute, value));
}

TIDE_VC_EXPORT int cuMemPoolGetAttribute(void *of, int attribute, void *ret_value) {
    TIDE_VC_TWIN(cudaMemPoolGetAttribute(of, attribute, ret_value));
}

TIDE_VC_EXPORT int cuMemAllocHost_v2(void **ret_address, size_t n_bytes) {
    TIDE_VC_TWIN(cudaMallocHost(ret_address, n_bytes));
}

TIDE_VC_EXPORT int cuMemHostAlloc(void **ret_address, size_t n_bytes, unsigned flags) {
    TIDE_VC_TWIN(cudaHostAlloc(ret_address, n_bytes, flags));
}

TIDE_VC_EXPORT int cuMemFreeHost(void *address) {
    TIDE_VC_TWIN(cudaFreeHost(address));
}

TIDE_VC_EXPORT int cuMemHostRegister_v2(void *address, size_t n_bytes, unsigned flags) {
    TIDE_VC_TWIN(cudaHostRegister(address, n_bytes, flags));
}

TIDE_VC_EXPORT int cuMemHostUnregister(void *address) {
    TIDE_VC_TWIN(cudaHostUnregister(address));
}

TIDE_VC_EXPORT int cuMemHostGetFlags(unsigned *ret_flags, void *host) {
    TIDE_VC_TWIN(cudaHostGetFlags(ret_flags, host));
}

/* CUmemPoolProps has the runtime's layout. */
TIDE_VC_EXPORT int cuMemPoolCreate(void **ret_pool, const void *properties) {
    TIDE_VC_TWIN(cudaMemPoolCreate(ret_pool, properties));
}

/* ---- functions that pass an address of the card as a number ---- */

static uint64_t number_of(const void *address) {
    return (uint64_t)(uintptr_t)address;
}

/* Ends a call that returned an address, and keeps the runtime's last error. */
static int give(uint64_t *ret_address, const void *address, int status, int before) {
    tide_vc_set_last_status(before);
    if (status == TIDE_VC_OK) {
        *ret_address = number_of(address);
    }
    return status;
}

TIDE_VC_EXPORT int cuMemAllocPitch_v2(uint64_t *ret_address, size_t *ret_pitch, size_t width,
                                      size_t height, unsigned element_bytes) {
    (void)element_bytes;
    int before = cudaPeekAtLastError();
    void *address = NULL;
    int status = cudaMallocPitch(&address, ret_pitch, width, height);
    return give(ret_address, address, status, before);
}

TIDE_VC_EXPORT int cuMemAllocManaged(uint64_t *ret_address, size_t n_bytes, unsigned flags) {
    int before = cudaPeekAtLastError();
    void *address = NULL;
    int status = cudaMallocManaged(&address, n_bytes, flags);
    return give(ret_address, address, status, before);
}

TIDE_VC_EXPORT int cuMemAllocFromPoolAsync(uint64_t *ret_address, size_t n_bytes, void *from,
                                           void *stream) {
    int before = cudaPeekAtLastError();
    void *address = NULL;
    int status = cudaMallocFromPoolAsync(&address, n_bytes, from, stream);
    return give(ret_address, address, status, before);
}

TIDE_VC_EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *ret_address, void *host, unsigned flags) {
    int before = cudaPeekAtLastError();
    void *address = NULL;
    int status = cudaHostGetDevicePointer(&address, host, flags);
    return give(ret_address, address, status, before);
}
