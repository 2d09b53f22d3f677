/* Device memory of the runtime and the driver: cudaMalloc and its relatives. */
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/wire/python_package.h"
#include "programs/virtual_cuda/card/blocks.h"
#include "programs/virtual_cuda/api/copies_internal.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/card/managed.h"
#include "programs/virtual_cuda/order/order.h"
#include "programs/virtual_cuda/card/pools.h"
#include "programs/virtual_cuda/api/status.h"

enum { PITCH_BYTES = 512 }; /* rows of a pitched allocation begin at multiples of it */

/* If the card is short of memory, pools free their unused memory first. */
static int alloc_on(int device, size_t n_bytes, uint64_t *ret_address) {
    int status = tide_vc_block_alloc(device, n_bytes, ret_address);
    if (status == TIDE_VC_MEMORY && tide_vc_pools_trim(device)) {
        status = tide_vc_block_alloc(device, n_bytes, ret_address);
    }
    return status;
}

static int allocate(void **ret_address, size_t n_bytes) {
    uint64_t address = 0;
    if (ret_address == NULL) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    tide_python_package_wake();
    int status = alloc_on(tide_vc_device(), n_bytes, &address);
    *ret_address = (void *)(uintptr_t)address;
    return tide_vc_fail(status);
}

/* Frees memory of cudaMalloc or of a pool, or managed memory. */
static int free_any(uint64_t address) {
    int status = tide_vc_block_release(address);
    if (status == TIDE_VC_INVALID_VALUE) {
        status = tide_vc_pool_free(address, NULL);
    }
    return status == TIDE_VC_INVALID_VALUE && tide_vc_managed_free(address) ? TIDE_VC_OK : status;
}

/* cudaFree(NULL) is a common way to make a context. */
static int release(const void *address) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    return tide_vc_fail(at == 0 ? tide_vc_context(tide_vc_device()) : free_any(at));
}

TIDE_VC_EXPORT int cudaMalloc(void **ret_address, size_t n_bytes) {
    return allocate(ret_address, n_bytes);
}

/* Waits for the device; pools do not count this as waiting. */
static void wait_for_device(uint64_t address) {
    if (tide_vc_is_late()) {
        tide_vc_wait_device(tide_vc_device());
    } else if (address != 0) {
        tide_vc_launch_end_on(tide_vc_launch_begin(),
                              &(tide_run_launch){.kind = TIDE_RUN_WAIT_DEVICE}, tide_vc_device(),
                              NULL);
    }
}

TIDE_VC_EXPORT int cudaFree(void *address) {
    wait_for_device((uint64_t)(uintptr_t)address);
    return release(address);
}

TIDE_VC_EXPORT int cudaMallocPitch(void **ret_address, size_t *ret_pitch, size_t width,
                                   size_t height) {
    if (ret_pitch == NULL || width > SIZE_MAX - PITCH_BYTES) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    *ret_pitch = (width + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    if (height > 0 && *ret_pitch > SIZE_MAX / height) {
        return tide_vc_fail(TIDE_VC_MEMORY);
    }
    return allocate(ret_address, *ret_pitch * height);
}

TIDE_VC_EXPORT int cudaMalloc3D(tide_vc_pitched *ret_pitched, tide_vc_box size) {
    size_t n_rows = size.height;
    if (size.depth > 0 && n_rows > SIZE_MAX / size.depth) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    tide_vc_pitched made = {.x_bytes = size.width, .y_rows = size.height};
    int status = cudaMallocPitch(&made.address, &made.pitch, size.width, n_rows * size.depth);
    if (status == TIDE_VC_OK) {
        *ret_pitched = made;
    }
    return status;
}

/* Frees all memory of the device. Its context stays, so the program may go on. */
static int reset(int device) {
    tide_vc_block block;
    tide_vc_wait_device(device);
    for (uint64_t at = 0; tide_vc_block_next(at, &block); at = block.address + block.n_bytes) {
        if (block.device == device && block.kind != TIDE_VC_BORROWED) {
            (void)free_any(block.address);
        }
    }
    (void)tide_vc_pools_trim(device);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceReset(void) {
    return tide_vc_fail(reset(tide_vc_device()));
}

TIDE_VC_EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
    return device >= 0 && device < tide_vc_n_devices() ? reset(device) : TIDE_VC_INVALID_DEVICE;
}

static int get_info(size_t *ret_free, size_t *ret_total) {
    const tide_vc_card *card = tide_vc_card_of(tide_vc_device());
    int status = tide_vc_context(tide_vc_device());
    if (status != TIDE_VC_OK) {
        return status;
    }
    if (ret_free != NULL) {
        *ret_free = tide_vc_free_bytes(card);
    }
    if (ret_total != NULL) {
        *ret_total = card->total_bytes;
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemGetInfo(size_t *ret_free, size_t *ret_total) {
    return tide_vc_fail(get_info(ret_free, ret_total));
}

/* ---- the driver's names for the same ---- */

TIDE_VC_EXPORT int cuMemAlloc_v2(uint64_t *ret_address, size_t n_bytes) {
    return alloc_on(tide_vc_device(), n_bytes, ret_address);
}

TIDE_VC_EXPORT int cuMemFree_v2(uint64_t address) {
    wait_for_device(address);
    return free_any(address);
}

TIDE_VC_EXPORT int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total) {
    return get_info(ret_free, ret_total);
}

TIDE_VC_EXPORT int cuMemGetAddressRange_v2(uint64_t *ret_base, size_t *ret_n_bytes,
                                           uint64_t address) {
    tide_vc_block block;
    if (!tide_vc_block_find(address, &block)) {
        return TIDE_VC_NOT_FOUND;
    }
    if (ret_base != NULL) {
        *ret_base = block.address;
    }
    if (ret_n_bytes != NULL) {
        *ret_n_bytes = block.n_bytes;
    }
    return TIDE_VC_OK;
}
