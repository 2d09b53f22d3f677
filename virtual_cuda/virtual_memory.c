/* The driver's virtual memory management, which PyTorch's expandable segments use: physical memory
 * is charged when it is created, and refunded once it is released and mapped nowhere. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "virtual_cuda/account.h"
#include "virtual_cuda/address.h"
#include "virtual_cuda/export.h"
#include "virtual_cuda/fork.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/machine.h"
#include "virtual_cuda/status.h"

#define PAGE_BYTES ((size_t)2 << 20)

/* Physical memory: a handle of the driver. */
typedef struct physical {
    uint64_t n_bytes;
    int device;
    int n_uses; /* the handle, and each mapping */
} physical;

typedef struct mapping {
    uint64_t address, n_bytes;
    physical *of;
} mapping;

static mapping *mappings; /* in no order; from malloc */
static size_t n_mappings, n_room;
TIDE_VC_LOCK(lock, NULL);

/* The first words of CUmemAllocationProp: type, handle types, location's type, its number. */
enum { LOCATION_ID = 3 };

TIDE_VC_EXPORT int cuMemGetAllocationGranularity(size_t *ret_bytes, const void *properties,
                                                 int option) {
    (void)properties;
    (void)option;
    *ret_bytes = PAGE_BYTES;
    return TIDE_VC_OK;
}

static uint64_t whole_pages(size_t n_bytes) {
    return (n_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

TIDE_VC_EXPORT int cuMemAddressReserve(uint64_t *ret_address, size_t n_bytes, size_t alignment,
                                       uint64_t wanted, unsigned long long flags) {
    (void)alignment;
    (void)wanted;
    (void)flags;
    if (n_bytes == 0 || n_bytes > SIZE_MAX - PAGE_BYTES) {
        return TIDE_VC_INVALID_VALUE;
    }
    *ret_address = tide_vc_address_take(whole_pages(n_bytes));
    return *ret_address != 0 ? TIDE_VC_OK : TIDE_VC_MEMORY;
}

TIDE_VC_EXPORT int cuMemAddressFree(uint64_t address, size_t n_bytes) {
    tide_vc_address_give_back(address, whole_pages(n_bytes));
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuMemCreate(unsigned long long *ret_handle, size_t n_bytes,
                               const int *properties, unsigned long long flags) {
    (void)flags;
    int device = properties != NULL ? properties[LOCATION_ID] : tide_vc_device();
    if (device < 0 || device >= tide_vc_n_devices() || n_bytes % PAGE_BYTES != 0 || n_bytes == 0) {
        return TIDE_VC_INVALID_VALUE;
    }
    physical *made = malloc(sizeof(*made));
    if (made == NULL) {
        return TIDE_VC_MEMORY;
    }
    int status = tide_vc_charge(device, n_bytes);
    if (status != TIDE_VC_OK) {
        free(made);
        return status;
    }
    *made = (physical){.n_bytes = n_bytes, .device = device, .n_uses = 1};
    *ret_handle = (unsigned long long)(uintptr_t)made;
    return TIDE_VC_OK;
}

/* The lock is held. */
static void let_go(physical *of) {
    of->n_uses--;
    if (of->n_uses == 0) {
        tide_vc_refund(of->device, of->n_bytes);
        free(of);
    }
}

TIDE_VC_EXPORT int cuMemRelease(unsigned long long handle) {
    if (handle == 0) {
        return TIDE_VC_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    let_go((physical *)(uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuMemMap(uint64_t address, size_t n_bytes, size_t offset,
                            unsigned long long handle, unsigned long long flags) {
    (void)offset;
    (void)flags;
    physical *of = (physical *)(uintptr_t)handle;
    int status = TIDE_VC_OK;
    pthread_mutex_lock(&lock);
    if (n_mappings == n_room) {
        size_t more = n_room > 0 ? 2 * n_room : 256;
        mapping *larger = realloc(mappings, more * sizeof(*larger));
        status = larger != NULL ? TIDE_VC_OK : TIDE_VC_MEMORY;
        mappings = larger != NULL ? larger : mappings;
        n_room = larger != NULL ? more : n_room;
    }
    if (status == TIDE_VC_OK) {
        mappings[n_mappings++] = (mapping){address, n_bytes, of};
        of->n_uses++;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

TIDE_VC_EXPORT int cuMemUnmap(uint64_t address, size_t n_bytes) {
    int status = TIDE_VC_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_mappings;) {
        if (mappings[i].address >= address && mappings[i].address - address < n_bytes) {
            let_go(mappings[i].of);
            mappings[i] = mappings[--n_mappings];
            status = TIDE_VC_OK;
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* The caller gets a use of its own and gives it back with cuMemRelease. */
TIDE_VC_EXPORT int cuMemRetainAllocationHandle(unsigned long long *ret_handle, void *address) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    int status = TIDE_VC_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_mappings && status != TIDE_VC_OK; i++) {
        if (at >= mappings[i].address && at - mappings[i].address < mappings[i].n_bytes) {
            mappings[i].of->n_uses++;
            *ret_handle = (unsigned long long)(uintptr_t)mappings[i].of;
            status = TIDE_VC_OK;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

TIDE_VC_EXPORT int cuMemSetAccess(uint64_t address, size_t n_bytes, const void *access,
                                  size_t n_access) {
    (void)address;
    (void)n_bytes;
    (void)access;
    (void)n_access;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuMemGetAccess(unsigned long long *ret_flags, const void *location,
                                  uint64_t address) {
    (void)location;
    (void)address;
    *ret_flags = 3; /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuMemExportToShareableHandle(void *ret_handle, unsigned long long handle,
                                                int type, unsigned long long flags) {
    (void)ret_handle;
    (void)handle;
    (void)type;
    (void)flags;
    tide_vc_refused("cuMemExportToShareableHandle",
                    "physical memory is not shared between processes");
    return TIDE_VC_NOT_SUPPORTED;
}

TIDE_VC_EXPORT int cuMemImportFromShareableHandle(unsigned long long *ret_handle, void *from,
                                                  int type) {
    (void)ret_handle;
    (void)from;
    (void)type;
    tide_vc_refused("cuMemImportFromShareableHandle",
                    "physical memory is not shared between processes");
    return TIDE_VC_NOT_SUPPORTED;
}
