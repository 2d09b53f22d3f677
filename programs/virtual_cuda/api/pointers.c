/* The kind of an address: of the device, page-locked, shared, or the host's own. */
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/card/blocks.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/card/pinned.h"
#include "programs/virtual_cuda/api/status.h"

/* cudaMemoryType, and CU_MEMORYTYPE_... if it has the kind. */
enum { UNREGISTERED = 0, HOST = 1, DEVICE = 2, MANAGED = 3 };
enum { NO_DEVICE = -2 }; /* cudaInvalidDeviceId */

/* cudaPointerAttributes up to CUDA 12. CUDA 13 adds reserved words at the end, which are not
 * written. */
typedef struct pointer_attributes {
    int type;
    int device;
    void *device_pointer;
    void *host_pointer;
} pointer_attributes;

static int kind_of(const void *address) {
    return tide_vc_is_device(address)    ? DEVICE
           : tide_vc_is_managed(address) ? MANAGED
           : tide_vc_is_pinned(address)  ? HOST
                                         : UNREGISTERED;
}

static int device_of(const void *address) {
    tide_vc_block block;
    return tide_vc_block_find((uint64_t)(uintptr_t)address, &block) ? block.device
                                                                    : tide_vc_device();
}

TIDE_VC_EXPORT int cudaPointerGetAttributes(pointer_attributes *ret, void *address) {
    int kind = kind_of(address);
    *ret = (pointer_attributes){.type = kind,
                                .device = kind == UNREGISTERED ? NO_DEVICE : device_of(address),
                                .device_pointer = kind == UNREGISTERED ? NULL : address,
                                .host_pointer = kind == DEVICE ? NULL : address};
    return TIDE_VC_OK;
}

/* CUpointer_attribute. */
enum {
    OF_CONTEXT = 1,
    OF_MEMORY_TYPE = 2,
    OF_DEVICE_POINTER = 3,
    OF_HOST_POINTER = 4,
    OF_BUFFER_ID = 7,
    OF_IS_MANAGED = 8,
    OF_DEVICE_ORDINAL = 9,
    OF_RANGE_START = 11,
    OF_RANGE_BYTES = 12,
    OF_IS_MAPPED = 13
};

static int one_attribute(void *ret, int attribute, uint64_t address) {
    const void *at = (const void *)(uintptr_t)address;
    tide_vc_block block = {.address = address};
    int kind = kind_of(at);
    if (kind == UNREGISTERED) {
        return TIDE_VC_INVALID_VALUE;
    }
    (void)tide_vc_block_find(address, &block);
    switch (attribute) {
    case OF_MEMORY_TYPE:
        *(unsigned *)ret = (unsigned)kind;
        return TIDE_VC_OK;
    case OF_IS_MANAGED:
        *(unsigned *)ret = kind == MANAGED;
        return TIDE_VC_OK;
    case OF_IS_MAPPED:
        *(unsigned *)ret = 1;
        return TIDE_VC_OK;
    case OF_DEVICE_ORDINAL:
        *(int *)ret = device_of(at);
        return TIDE_VC_OK;
    case OF_DEVICE_POINTER:
    case OF_HOST_POINTER:
        *(uint64_t *)ret = address;
        return TIDE_VC_OK;
    case OF_RANGE_START:
    case OF_BUFFER_ID:
        *(uint64_t *)ret = block.address;
        return TIDE_VC_OK;
    case OF_RANGE_BYTES:
        *(uint64_t *)ret = block.n_bytes;
        return TIDE_VC_OK;
    default:
        return TIDE_VC_NOT_SUPPORTED;
    }
}

TIDE_VC_EXPORT int cuPointerGetAttribute(void *ret, int attribute, uint64_t address) {
    return one_attribute(ret, attribute, address);
}

/* For an unknown address it writes zeros and succeeds. */
TIDE_VC_EXPORT int cuPointerGetAttributes(unsigned n, const int *attributes, void **ret,
                                          uint64_t address) {
    for (unsigned i = 0; i < n; i++) {
        int status = one_attribute(ret[i], attributes[i], address);
        if (status == TIDE_VC_NOT_SUPPORTED) {
            return status;
        }
    }
    return TIDE_VC_OK;
}
