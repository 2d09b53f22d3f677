/* Memory pools: cudaMallocAsync and its pool. A pool keeps nothing back: what is freed is free at
 * once, while a card gives it back at the next synchronisation. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "virtual_cuda/account.h"
#include "virtual_cuda/blocks.h"
#include "virtual_cuda/export.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/machine.h"
#include "virtual_cuda/status.h"

/* A pool: the default one of a device, or one that a program made. */
typedef struct pool {
    int device;
    uint64_t release_threshold; /* as the program set it */
} pool;

static pool defaults[TIDE_VC_MAX_DEVICES];

/* cudaMemPoolAttr: the first three are int, the others uint64_t. */
enum { LAST_INT = 3, RELEASE_THRESHOLD = 4 };

static int allocate(void **ret_address, size_t n_bytes, int device) {
    uint64_t address = 0;
    tide_vc_inexact("cudaMallocAsync", "what the pool holds back is not known; 0 is taken");
    int status = tide_vc_block_alloc(device, n_bytes, &address);
    *ret_address = (void *)(uintptr_t)address;
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaMallocAsync(void **ret_address, size_t n_bytes, void *stream) {
    (void)stream;
    return allocate(ret_address, n_bytes, tide_vc_device());
}

TIDE_VC_EXPORT int cudaMallocFromPoolAsync(void **ret_address, size_t n_bytes, void *from,
                                           void *stream) {
    (void)stream;
    return allocate(ret_address, n_bytes, ((const pool *)from)->device);
}

TIDE_VC_EXPORT int cudaFreeAsync(void *address, void *stream) {
    (void)stream;
    return tide_vc_fail(tide_vc_block_release((uint64_t)(uintptr_t)address));
}

TIDE_VC_EXPORT int cudaDeviceGetDefaultMemPool(void **ret_pool, int device) {
    if (device < 0 || device >= tide_vc_n_devices()) {
        return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
    }
    defaults[device].device = device;
    *ret_pool = &defaults[device];
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceGetMemPool(void **ret_pool, int device) {
    return cudaDeviceGetDefaultMemPool(ret_pool, device);
}

TIDE_VC_EXPORT int cudaMemPoolTrimTo(void *of, size_t n_bytes) {
    (void)of;
    (void)n_bytes;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemPoolSetAccess(void *of, const void *access, size_t n) {
    (void)of;
    (void)access;
    (void)n;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemPoolSetAttribute(void *of, int attribute, void *value) {
    if (attribute == RELEASE_THRESHOLD) {
        memcpy(&((pool *)of)->release_threshold, value, sizeof(uint64_t));
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemPoolGetAttribute(void *of, int attribute, void *ret_value) {
    const pool *from = of;
    uint64_t value = attribute == RELEASE_THRESHOLD
                         ? from->release_threshold
                         : tide_vc_used_bytes(tide_vc_card_of(from->device));
    if (attribute <= LAST_INT) {
        *(int *)ret_value = 1;
    } else {
        memcpy(ret_value, &value, sizeof(value));
    }
    return TIDE_VC_OK;
}
