/* entry_driver.c - stand-ins for functions of the CUDA driver that allocate or free device memory.
 * entry_driver_objects.c has those of host memory, arrays, contexts and others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/live/entries/entry_internal.h"
#include "programs/live/physical.h"

enum { SUCCESS = 0 };

/* ---- memory with an address ---- */

TIDE_LIVE_STAND_IN(cuMemAlloc_v2, uint64_t *ret_address, size_t n_bytes) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemAlloc_v2)(ret_address, n_bytes);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemAllocPitch_v2, uint64_t *ret_address, size_t *ret_pitch, size_t width,
                   size_t height, unsigned element_bytes) {
    TIDE_LIVE_BEGIN(call);
    int status =
        TIDE_LIVE_NEXT(cuMemAllocPitch_v2)(ret_address, ret_pitch, width, height, element_bytes);
    return tide_live_took_device(&call, status, ret_address,
                                 (status == SUCCESS ? *ret_pitch : width) * height);
}

TIDE_LIVE_STAND_IN(cuMemAllocManaged, uint64_t *ret_address, size_t n_bytes, unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemAllocManaged)(ret_address, n_bytes, flags);
    return tide_live_took_managed(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemAllocAsync, uint64_t *ret_address, size_t n_bytes, void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemAllocAsync)(ret_address, n_bytes, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemAllocAsync_ptsz, uint64_t *ret_address, size_t n_bytes, void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemAllocAsync_ptsz)(ret_address, n_bytes, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemAllocFromPoolAsync, uint64_t *ret_address, size_t n_bytes, void *pool,
                   void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemAllocFromPoolAsync)(ret_address, n_bytes, pool, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemAllocFromPoolAsync_ptsz, uint64_t *ret_address, size_t n_bytes, void *pool,
                   void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemAllocFromPoolAsync_ptsz)(ret_address, n_bytes, pool, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemFree_v2, uint64_t address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, address);
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuMemFree_v2)(address));
}

TIDE_LIVE_STAND_IN(cuMemFreeAsync, uint64_t address, void *stream) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, address);
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuMemFreeAsync)(address, stream));
}

TIDE_LIVE_STAND_IN(cuMemFreeAsync_ptsz, uint64_t address, void *stream) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, address);
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuMemFreeAsync_ptsz)(address, stream));
}

/* ---- memory without an address, and addresses for it ---- */

/* The kind and place of the requested memory: the head of CUmemAllocationProp. */
typedef struct allocation_properties {
    int kind;
    int handle_kinds;
    int location_kind; /* 1: a device; others: the host, or one of its parts */
    int location;      /* the device */
} allocation_properties;

enum { ON_DEVICE = 1 };

TIDE_LIVE_STAND_IN(cuMemCreate, uint64_t *ret_handle, size_t n_bytes,
                   const allocation_properties *properties, unsigned long long flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemCreate)(ret_handle, n_bytes, properties, flags);
    bool on_host = properties != NULL && properties->location_kind != ON_DEVICE;
    int device = properties == NULL ? TIDE_LIVE_CURRENT : on_host ? 0 : properties->location;
    if (status == SUCCESS) {
        tide_live_physical_created(&call, *ret_handle, n_bytes, device, on_host);
    }
    /* Without an address this holds nothing; a refusal is recorded as for other memory. */
    const tide_live_taken asked = {.action = on_host ? TIDE_LOG_CALL_HOST_ALLOC
                                                     : TIDE_LOG_CALL_DEVICE_ALLOC,
                                   .n_bytes = n_bytes,
                                   .device = device};
    return tide_live_call_took(&call, status, &asked);
}

TIDE_LIVE_STAND_IN(cuMemRetainAllocationHandle, uint64_t *ret_handle, void *address) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemRetainAllocationHandle)(ret_handle, address);
    if (status == SUCCESS) {
        tide_live_physical_retained(*ret_handle, (uint64_t)(uintptr_t)address);
    }
    tide_live_call_end(&call);
    return status;
}

TIDE_LIVE_STAND_IN(cuMemRelease, uint64_t handle) {
    TIDE_LIVE_BEGIN(call);
    tide_live_physical_releasing(&call, handle);
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuMemRelease)(handle));
}

TIDE_LIVE_STAND_IN(cuMemMap, uint64_t address, size_t n_bytes, size_t offset, uint64_t handle,
                   unsigned long long flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemMap)(address, n_bytes, offset, handle, flags);
    if (status == SUCCESS) {
        tide_live_physical_mapped(address, n_bytes, handle);
    }
    tide_live_call_end(&call);
    return status;
}

TIDE_LIVE_STAND_IN(cuMemUnmap, uint64_t address, size_t n_bytes) {
    TIDE_LIVE_BEGIN(call);
    tide_live_physical_unmapping(&call, address, n_bytes);
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuMemUnmap)(address, n_bytes));
}

/* A multicast object, through which several devices write, uses no memory itself; it holds the
 * memory bound to it. */
TIDE_LIVE_STAND_IN(cuMulticastBindMem, uint64_t multicast, size_t multicast_offset, uint64_t handle,
                   size_t offset, size_t n_bytes, unsigned long long flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMulticastBindMem)(multicast, multicast_offset, handle, offset,
                                                    n_bytes, flags);
    if (status == SUCCESS) {
        tide_live_physical_bound(multicast, multicast_offset, handle);
    }
    tide_live_call_end(&call);
    return status;
}

TIDE_LIVE_STAND_IN(cuMulticastUnbind, uint64_t multicast, int device, size_t offset,
                   size_t n_bytes) {
    TIDE_LIVE_BEGIN(call);
    tide_live_physical_unbinding(&call, multicast, offset, device);
    return tide_live_call_gave(
        &call, TIDE_LIVE_NEXT(cuMulticastUnbind)(multicast, device, offset, n_bytes));
}

/* ---- memory of graphs ---- */

/* CUDA_MEM_ALLOC_NODE_PARAMS: the memory of a node. */
typedef struct graph_memory {
    allocation_properties properties;
    char others[72]; /* of a pool's properties */
    const void *access;
    size_t n_access;
    size_t n_bytes;
    uint64_t address; /* where it will be */
} graph_memory;

_Static_assert(offsetof(graph_memory, address) == 112, "as in CUDA's headers");

TIDE_LIVE_STAND_IN(cuGraphAddMemAllocNode, void **ret_node, void *graph, const void *after,
                   size_t n_after, graph_memory *memory) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuGraphAddMemAllocNode)(ret_node, graph, after, n_after, memory);
    const tide_live_taken taken = {.action = TIDE_LOG_CALL_DEVICE_ALLOC,
                                   .address = status == SUCCESS ? memory->address : 0,
                                   .n_bytes = memory->n_bytes,
                                   .device = memory->properties.location};
    return tide_live_call_took(&call, status, &taken);
}

TIDE_LIVE_STAND_IN(cuGraphAddMemFreeNode, void **ret_node, void *graph, const void *after,
                   size_t n_after, uint64_t address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, address);
    return tide_live_call_gave(
        &call, TIDE_LIVE_NEXT(cuGraphAddMemFreeNode)(ret_node, graph, after, n_after, address));
}
