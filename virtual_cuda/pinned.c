#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "virtual_cuda/pinned.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "virtual_cuda/export.h"
#include "virtual_cuda/fork.h"
#include "virtual_cuda/host_failure.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/ranges.h"
#include "virtual_cuda/status.h"

/* What a range is: mapped here, or registered. */
typedef enum area_kind { REGISTERED, OURS, MANAGED } area_kind;

static tide_vc_ranges areas;
TIDE_VC_LOCK(lock, NULL);

static int add(const void *address, size_t n_bytes, area_kind kind) {
    pthread_mutex_lock(&lock);
    bool is_added =
        tide_vc_ranges_add(&areas, (tide_vc_range){.address = (uint64_t)(uintptr_t)address,
                                                   .n_bytes = n_bytes,
                                                   .kind = (int)kind});
    pthread_mutex_unlock(&lock);
    return is_added ? TIDE_VC_OK : tide_vc_host_failed("the list of page-locked memory");
}

static bool find(const void *address, tide_vc_range *ret_area) {
    pthread_mutex_lock(&lock);
    bool found = tide_vc_ranges_find(&areas, (uint64_t)(uintptr_t)address, ret_area);
    pthread_mutex_unlock(&lock);
    return found;
}

bool tide_vc_is_pinned(const void *address) {
    tide_vc_range found;
    return find(address, &found) && found.kind != (int)MANAGED;
}

bool tide_vc_is_managed(const void *address) {
    tide_vc_range found;
    return find(address, &found) && found.kind == (int)MANAGED;
}

static int allocate(void **ret_address, size_t n_bytes, bool is_managed) {
    if (ret_address == NULL) {
        return TIDE_VC_INVALID_VALUE;
    }
    *ret_address = NULL;
    if (n_bytes == 0) {
        return TIDE_VC_OK;
    }
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) { /* memory of the host: CUDA's error is that of any memory */
        (void)tide_vc_host_failed(is_managed ? "managed memory" : "page-locked memory");
        return TIDE_VC_MEMORY;
    }
    int status = add(at, n_bytes, is_managed ? MANAGED : OURS);
    if (status != TIDE_VC_OK) {
        (void)munmap(at, n_bytes);
        return status;
    }
    *ret_address = at;
    return TIDE_VC_OK;
}

static int release(void *address) {
    if (address == NULL) {
        return TIDE_VC_OK;
    }
    tide_vc_range gone;
    pthread_mutex_lock(&lock);
    bool is_gone = tide_vc_ranges_remove(&areas, (uint64_t)(uintptr_t)address, &gone);
    pthread_mutex_unlock(&lock);
    if (!is_gone) {
        return TIDE_VC_INVALID_VALUE;
    }
    if (gone.kind != (int)REGISTERED) {
        (void)munmap(address, gone.n_bytes);
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaHostAlloc(void **ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    return tide_vc_fail(allocate(ret_address, n_bytes, false));
}

TIDE_VC_EXPORT int cudaMallocHost(void **ret_address, size_t n_bytes) {
    return tide_vc_fail(allocate(ret_address, n_bytes, false));
}

TIDE_VC_EXPORT int cudaMallocManaged(void **ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    tide_vc_inexact("cudaMallocManaged",
                    "managed memory is host memory here, and the card is not charged for it");
    return tide_vc_fail(allocate(ret_address, n_bytes, true));
}

TIDE_VC_EXPORT int cudaFreeHost(void *address) {
    return tide_vc_fail(release(address));
}

TIDE_VC_EXPORT int cudaHostRegister(void *address, size_t n_bytes, unsigned flags) {
    (void)flags;
    if (address == NULL || n_bytes == 0) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    tide_vc_range there;
    if (find(address, &there)) {
        return tide_vc_fail(TIDE_VC_HOST_ALREADY);
    }
    return tide_vc_fail(add(address, n_bytes, REGISTERED));
}

TIDE_VC_EXPORT int cudaHostUnregister(void *address) {
    int status = address != NULL ? release(address) : TIDE_VC_INVALID_VALUE;
    return tide_vc_fail(status == TIDE_VC_INVALID_VALUE ? TIDE_VC_HOST_NOT : status);
}

TIDE_VC_EXPORT int cudaHostGetDevicePointer(void **ret_device, void *host, unsigned flags) {
    (void)flags;
    *ret_device = host;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaHostGetFlags(unsigned *ret_flags, void *host) {
    (void)host;
    *ret_flags = 0;
    return TIDE_VC_OK;
}
