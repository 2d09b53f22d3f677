/* Memory and events that processes share: cudaIpc and cuIpc. The memory stays charged to the
 * process that offers it; a process that opens it gets its own addresses. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/card/blocks.h"
#include "programs/virtual_cuda/order/events.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/exports.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"

#define MEMORY_MAGIC UINT64_C(0x6d656d6564697430)
#define EVENT_MAGIC UINT64_C(0x6576656564697430)

/* cudaIpcMemHandle_t and cudaIpcEventHandle_t, which are passed by value. */
typedef struct ipc_handle {
    uint64_t magic;
    uint64_t id; /* of memory */
    uint64_t unused[6];
} ipc_handle;

_Static_assert(sizeof(ipc_handle) == 64, "CUDA_IPC_HANDLE_SIZE");

/* Memory of another process that this one has opened. */
typedef struct opened {
    uint64_t id, address;
    size_t n_uses;
} opened;

/* The lock guards it. */
static struct ipc {
    opened *all;          /* unordered; from malloc */
    size_t n_all, n_room; /* n_all is at most n_room */
} ipc;
TIDE_VC_LOCK(lock, NULL);

/* Offers the whole block that holds the address. */
static int offer(const char *call, ipc_handle *ret_handle, uint64_t address) {
    tide_vc_block block;
    if (ret_handle == NULL || !tide_vc_block_find(address, &block) || block.kind != TIDE_VC_OWN) {
        return TIDE_VC_INVALID_VALUE;
    }
    uint64_t id = tide_vc_export_offer(call, block.address, block.n_bytes, block.device);
    if (id == 0) {
        return TIDE_VC_NOT_SUPPORTED;
    }
    *ret_handle = (ipc_handle){.magic = MEMORY_MAGIC, .id = id};
    return TIDE_VC_OK;
}

/* Adds a use of opened memory. If it is not open yet, opens it at `address`, unless that is 0. The
 * lock is held. Returns the address; 0 if it is not open. */
static uint64_t use(uint64_t id, uint64_t address) {
    for (size_t i = 0; i < ipc.n_all; i++) {
        if (ipc.all[i].id == id) {
            ipc.all[i].n_uses++;
            return ipc.all[i].address;
        }
    }
    if (address != 0 && ipc.n_all == ipc.n_room) {
        size_t more = ipc.n_room > 0 ? 2 * ipc.n_room : 64;
        opened *larger = realloc(ipc.all, more * sizeof(*larger));
        if (larger == NULL) {
            return 0;
        }
        ipc.all = larger;
        ipc.n_room = more;
    }
    if (address != 0) {
        ipc.all[ipc.n_all++] = (opened){id, address, 1};
    }
    return address;
}

static uint64_t locked_use(uint64_t id, uint64_t address) {
    pthread_mutex_lock(&lock);
    uint64_t found = use(id, address);
    pthread_mutex_unlock(&lock);
    return found;
}

static void give_back(uint64_t address) {
    tide_vc_block block;
    if (tide_vc_block_take_out(address, TIDE_VC_BORROWED, &block)) {
        tide_vc_block_end(&block);
    }
}

static int open_memory(uint64_t *ret_address, const ipc_handle *handle) {
    tide_vc_export of;
    if (handle->magic != MEMORY_MAGIC || !tide_vc_export_find(handle->id, &of)) {
        return TIDE_VC_INVALID_VALUE;
    }
    if (of.is_own) {
        return TIDE_VC_INVALID_CONTEXT; /* as on a card */
    }
    if (of.device < 0) {
        return TIDE_VC_INVALID_DEVICE;
    }
    int status = tide_vc_context(tide_vc_device());
    *ret_address = status == TIDE_VC_OK ? locked_use(of.id, 0) : 0;
    if (status != TIDE_VC_OK || *ret_address != 0) {
        return status;
    }
    uint64_t made = 0;
    status = tide_vc_block_place(of.device, of.n_bytes, NULL, &made);
    if (status != TIDE_VC_OK) {
        return status;
    }
    *ret_address = locked_use(of.id, made);
    if (*ret_address != made) { /* another thread was faster, or there is no host memory */
        give_back(made);
    }
    return *ret_address != 0 ? TIDE_VC_OK : tide_vc_host_failed("the memory of another process");
}

static int close_memory(uint64_t address) {
    int status = TIDE_VC_INVALID_VALUE;
    bool is_last = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ipc.n_all && status != TIDE_VC_OK; i++) {
        if (ipc.all[i].address == address) {
            status = TIDE_VC_OK;
            ipc.all[i].n_uses--;
            is_last = ipc.all[i].n_uses == 0;
            ipc.all[i] = is_last ? ipc.all[--ipc.n_all] : ipc.all[i];
        }
    }
    pthread_mutex_unlock(&lock);
    if (is_last) {
        give_back(address);
    }
    return status;
}

static int offer_event(ipc_handle *ret_handle, const void *event) {
    if (ret_handle == NULL || event == NULL || !tide_vc_event_is_interprocess(event)) {
        return TIDE_VC_INVALID_HANDLE;
    }
    *ret_handle = (ipc_handle){.magic = EVENT_MAGIC};
    return TIDE_VC_OK;
}

/* An event of another process counts as complete, because work completes immediately. CUDA gives
 * shared events no times. */
static int open_event(void **ret_event, const ipc_handle *handle) {
    unsigned flags = TIDE_VC_EVENT_INTERPROCESS | TIDE_VC_EVENT_DISABLE_TIMING;
    return handle->magic == EVENT_MAGIC ? tide_vc_event_new(ret_event, flags)
                                        : TIDE_VC_INVALID_VALUE;
}

TIDE_VC_EXPORT int cudaIpcGetMemHandle(ipc_handle *ret_handle, void *address) {
    return tide_vc_fail(offer("cudaIpcGetMemHandle", ret_handle, (uint64_t)(uintptr_t)address));
}

TIDE_VC_EXPORT int cudaIpcOpenMemHandle(void **ret_address, ipc_handle handle, unsigned flags) {
    (void)flags;
    uint64_t address = 0;
    int status = open_memory(&address, &handle);
    *ret_address = (void *)(uintptr_t)address;
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaIpcCloseMemHandle(void *address) {
    return tide_vc_fail(close_memory((uint64_t)(uintptr_t)address));
}

TIDE_VC_EXPORT int cudaIpcGetEventHandle(ipc_handle *ret_handle, void *event) {
    return tide_vc_fail(offer_event(ret_handle, event));
}

TIDE_VC_EXPORT int cudaIpcOpenEventHandle(void **ret_event, ipc_handle handle) {
    return tide_vc_fail(open_event(ret_event, &handle));
}

/* ---- the driver's names for the same ---- */

TIDE_VC_EXPORT int cuIpcGetMemHandle(ipc_handle *ret_handle, uint64_t address) {
    return offer("cuIpcGetMemHandle", ret_handle, address);
}

TIDE_VC_EXPORT int cuIpcOpenMemHandle_v2(uint64_t *ret_address, ipc_handle handle, unsigned flags) {
    (void)flags;
    *ret_address = 0;
    return open_memory(ret_address, &handle);
}

TIDE_VC_EXPORT int cuIpcCloseMemHandle(uint64_t address) {
    return close_memory(address);
}

TIDE_VC_EXPORT int cuIpcGetEventHandle(ipc_handle *ret_handle, void *event) {
    return offer_event(ret_handle, event);
}

TIDE_VC_EXPORT int cuIpcOpenEventHandle(void **ret_event, ipc_handle handle) {
    return open_event(ret_event, &handle);
}
