/* The driver's virtual memory management, which PyTorch's expandable segments use. Physical memory
 * is charged when it is created, and refunded once it is released and mapped nowhere. */
#define _GNU_SOURCE /* memfd_create */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/card/address.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/exports.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/card/pools.h"
#include "programs/virtual_cuda/card/ranges.h"
#include "programs/virtual_cuda/api/status.h"

#define PAGE_BYTES ((size_t)2 << 20)
#define PHYSICAL "physical memory" /* for messages about host memory */

/* Physical memory: a handle of the driver. */
typedef struct physical {
    uint64_t n_bytes;
    int device;
    int n_uses;       /* the handle, and each mapping */
    bool is_borrowed; /* another process' memory, charged to that process */
} physical;

static tide_vc_ranges mappings; /* owner: the physical memory */
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
    *ret_address = 0;
    if (!tide_vc_address_fits(whole_pages(n_bytes))) {
        return tide_vc_addresses_failed();
    }
    *ret_address = tide_vc_address_take(whole_pages(n_bytes));
    return *ret_address != 0 ? TIDE_VC_OK : tide_vc_host_failed("the list of addresses");
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
        return tide_vc_host_failed(PHYSICAL);
    }
    int status = tide_vc_charge(device, n_bytes);
    if (status == TIDE_VC_MEMORY && tide_vc_pools_trim(device)) {
        status = tide_vc_charge(device, n_bytes);
    }
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
        if (!of->is_borrowed) {
            tide_vc_export_end((uint64_t)(uintptr_t)of);
            tide_vc_refund(of->device, of->n_bytes);
        }
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
    pthread_mutex_lock(&lock);
    bool is_mapped = tide_vc_ranges_add(
        &mappings, (tide_vc_range){.address = address, .n_bytes = n_bytes, .owner = of});
    of->n_uses += is_mapped ? 1 : 0;
    pthread_mutex_unlock(&lock);
    return is_mapped ? TIDE_VC_OK : tide_vc_host_failed("the list of mappings");
}

TIDE_VC_EXPORT int cuMemUnmap(uint64_t address, size_t n_bytes) {
    int status = TIDE_VC_INVALID_VALUE;
    tide_vc_known_forget(address, n_bytes);
    pthread_mutex_lock(&lock);
    tide_vc_range gone;
    while (tide_vc_ranges_at_or_above(&mappings, address, &gone) &&
           gone.address - address < n_bytes) {
        (void)tide_vc_ranges_remove(&mappings, gone.address, NULL);
        let_go(gone.owner);
        status = TIDE_VC_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* The caller gets a use of its own and releases it with cuMemRelease. */
TIDE_VC_EXPORT int cuMemRetainAllocationHandle(unsigned long long *ret_handle, void *address) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    int status = TIDE_VC_INVALID_VALUE;
    tide_vc_range there;
    pthread_mutex_lock(&lock);
    if (tide_vc_ranges_find(&mappings, at, &there)) {
        physical *of = there.owner;
        of->n_uses++;
        *ret_handle = (unsigned long long)(uintptr_t)of;
        status = TIDE_VC_OK;
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

/* ---- physical memory for other processes: a file descriptor that programs pass on ---- */

enum { AS_FILE = 1 }; /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */

/* The contents of the file. */
typedef struct shared_memory {
    uint64_t magic, id;
} shared_memory;

#define SHARED_MAGIC UINT64_C(0x6d656d7664697430)

TIDE_VC_EXPORT int cuMemExportToShareableHandle(int *ret_file, unsigned long long handle, int type,
                                                unsigned long long flags) {
    (void)flags;
    const physical *of = (const physical *)(uintptr_t)handle;
    if (type != AS_FILE) {
        tide_vc_refused("cuMemExportToShareableHandle",
                        "memory is shared between processes by file descriptors only");
        return TIDE_VC_NOT_SUPPORTED;
    }
    uint64_t id =
        tide_vc_export_offer("cuMemExportToShareableHandle", handle, of->n_bytes, of->device);
    if (id == 0) {
        return TIDE_VC_NOT_SUPPORTED;
    }
    shared_memory told = {SHARED_MAGIC, id};
    int file = memfd_create("tidemark", MFD_CLOEXEC);
    if (file < 0) {
        return tide_vc_host_failed(PHYSICAL);
    }
    if (write(file, &told, sizeof(told)) != (ssize_t)sizeof(told)) {
        (void)close(file);
        return tide_vc_host_failed(PHYSICAL);
    }
    *ret_file = file;
    return TIDE_VC_OK;
}

/* Memory that this process exported is its own again; another process' memory is not charged a
 * second time. */
static int import(unsigned long long *ret_handle, const tide_vc_export *from) {
    if (from->is_own) {
        physical *own = (physical *)(uintptr_t)from->address;
        pthread_mutex_lock(&lock);
        own->n_uses++;
        pthread_mutex_unlock(&lock);
        *ret_handle = (unsigned long long)from->address;
        return TIDE_VC_OK;
    }
    physical *made = malloc(sizeof(*made));
    if (made == NULL) {
        return tide_vc_host_failed(PHYSICAL);
    }
    *made = (physical){
        .n_bytes = from->n_bytes, .device = from->device, .n_uses = 1, .is_borrowed = true};
    *ret_handle = (unsigned long long)(uintptr_t)made;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuMemImportFromShareableHandle(unsigned long long *ret_handle, void *file,
                                                  int type) {
    shared_memory told = {0, 0};
    tide_vc_export from;
    if (type != AS_FILE) {
        return TIDE_VC_NOT_SUPPORTED;
    }
    if (pread((int)(intptr_t)file, &told, sizeof(told), 0) != (ssize_t)sizeof(told) ||
        told.magic != SHARED_MAGIC || !tide_vc_export_find(told.id, &from)) {
        return TIDE_VC_INVALID_VALUE;
    }
    return from.device >= 0 ? import(ret_handle, &from) : TIDE_VC_INVALID_DEVICE;
}
