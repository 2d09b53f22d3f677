/* The CUDA driver's devices, contexts, modules and kernels. Every context is the primary one of its
 * device; for memory this makes no difference. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/wire/python_package.h"
#include "programs/virtual_cuda/api/attributes.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/handle.h"
#include "programs/virtual_cuda/launches/images.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/launches/launched.h"
#include "programs/virtual_cuda/launches/modules.h"
#include "programs/virtual_cuda/launches/stores.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/order/order.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/api/twins_internal.h"
#include "programs/virtual_cuda/order/streams.h"
#include "programs/virtual_cuda/values/unknown.h"
#include "programs/virtual_cuda/launches/uses.h"
#include "programs/virtual_cuda/launches/kernels/triton.h"
#include "programs/virtual_cuda/launches/kernels/work.h"

enum { UUID_BYTES = 16 };

static bool is_device_number(int device) {
    return device >= 0 && device < tide_vc_n_devices();
}

TIDE_VC_EXPORT int cuInit(unsigned flags) {
    (void)flags;
    tide_python_package_wake();
    return tide_vc_n_devices() > 0 ? TIDE_VC_OK : TIDE_VC_NO_DEVICE;
}

TIDE_VC_EXPORT int cuDriverGetVersion(int *ret_version) {
    *ret_version = TIDE_VC_DRIVER_VERSION;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuDeviceGetCount(int *ret_n) {
    *ret_n = tide_vc_n_devices();
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuDeviceGet(int *ret_device, int number) {
    if (!is_device_number(number)) {
        return TIDE_VC_INVALID_DEVICE;
    }
    *ret_device = number;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuDeviceGetName(char *ret_name, int n_bytes, int device) {
    if (!is_device_number(device) || n_bytes <= 0) {
        return TIDE_VC_INVALID_DEVICE;
    }
    (void)snprintf(ret_name, (size_t)n_bytes, "%s", tide_vc_card_of(device)->card->title);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuDeviceTotalMem_v2(size_t *ret_bytes, int device) {
    if (!is_device_number(device)) {
        return TIDE_VC_INVALID_DEVICE;
    }
    *ret_bytes = tide_vc_card_of(device)->total_bytes;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuDeviceGetUuid_v2(unsigned char *ret_uuid, int device) {
    if (!is_device_number(device)) {
        return TIDE_VC_INVALID_DEVICE;
    }
    memset(ret_uuid, 0, UUID_BYTES);
    ret_uuid[0] = (unsigned char)(tide_vc_card_of(device)->number + 1);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuDeviceGetUuid(unsigned char *ret_uuid, int device) {
    return cuDeviceGetUuid_v2(ret_uuid, device);
}

TIDE_VC_EXPORT int cuDeviceCanAccessPeer(int *ret_can, int device, int peer) {
    TIDE_VC_TWIN(cudaDeviceCanAccessPeer(ret_can, device, peer));
}

TIDE_VC_EXPORT int cuDeviceGetP2PAttribute(int *ret_value, int attribute, int device, int peer) {
    TIDE_VC_TWIN(cudaDeviceGetP2PAttribute(ret_value, attribute, device, peer));
}

/* ---- contexts: the primary one of device d is the address of contexts[d] ---- */

static char contexts[TIDE_VC_MAX_DEVICES];

static void *context_of(int device) {
    return &contexts[device];
}

TIDE_VC_EXPORT int cuCtxGetCurrent(void **ret_context) {
    *ret_context = context_of(tide_vc_device());
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuCtxSetCurrent(void *context) {
    uintptr_t device = (uintptr_t)context - (uintptr_t)contexts;
    if (context != NULL && device >= (uintptr_t)tide_vc_n_devices()) {
        return TIDE_VC_INVALID_CONTEXT;
    }
    if (context != NULL) {
        tide_vc_set_device((int)device);
    }
    return TIDE_VC_OK;
}

enum { MAX_PUSHED = 16 };
static _Thread_local struct pushed {
    int devices[MAX_PUSHED]; /* former ones, for cuCtxPopCurrent */
    int n;                   /* at most MAX_PUSHED */
} pushed;

TIDE_VC_EXPORT int cuCtxPushCurrent_v2(void *context) {
    if (pushed.n == MAX_PUSHED) {
        return TIDE_VC_INVALID_VALUE;
    }
    pushed.devices[pushed.n++] = tide_vc_device();
    return cuCtxSetCurrent(context);
}

TIDE_VC_EXPORT int cuCtxPopCurrent_v2(void **ret_context) {
    if (ret_context != NULL) {
        *ret_context = context_of(tide_vc_device());
    }
    if (pushed.n > 0) {
        tide_vc_set_device(pushed.devices[--pushed.n]);
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuCtxGetDevice(int *ret_device) {
    *ret_device = tide_vc_device();
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuCtxSynchronize(void) {
    tide_vc_wait_device(tide_vc_device());
    return tide_vc_context(tide_vc_device());
}

TIDE_VC_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *ret_flags, int *ret_is_active) {
    if (!is_device_number(device)) {
        return TIDE_VC_INVALID_DEVICE;
    }
    *ret_flags = 0;
    *ret_is_active = tide_vc_has_context(device);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuDevicePrimaryCtxRetain(void **ret_context, int device) {
    if (!is_device_number(device)) {
        return TIDE_VC_INVALID_DEVICE;
    }
    *ret_context = context_of(device);
    return tide_vc_context(device);
}

TIDE_VC_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    return TIDE_VC_OK;
}

/* ---- modules and kernels ---- */

static int give_handle(void **ret_handle) {
    *ret_handle = tide_vc_handle_new();
    return TIDE_VC_OK;
}

/* A module that was loaded from a file stores its path in its handle; "": no file, or the path does
 * not fit. */
TIDE_VC_EXPORT int cuModuleLoad(void **ret_module, const char *path) {
    *ret_module = tide_vc_handle_new();
    if (path != NULL && strlen(path) < TIDE_VC_HANDLE_BYTES) {
        memcpy(*ret_module, path, strlen(path) + 1);
    }
    tide_vc_module_read_file(*ret_module, path);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuModuleLoadData(void **ret_module, const void *image) {
    *ret_module = tide_vc_handle_new();
    tide_vc_module_read(*ret_module, image);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuModuleLoadDataEx(void **ret_module, const void *image) {
    return cuModuleLoadData(ret_module, image);
}

TIDE_VC_EXPORT int cuModuleUnload(void *module) {
    tide_vc_module_forget(module);
    tide_vc_handle_release(module);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuModuleGetFunction(void **ret_kernel, void *module, const char *name) {
    *ret_kernel = tide_vc_kernel_new(name);
    tide_vc_triton_add(*ret_kernel, module);
    tide_vc_stores_add(*ret_kernel, module);
    tide_vc_module_kernel(module, *ret_kernel, name);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuLinkCreate_v2(unsigned n_options, void *options, void *values,
                                   void **ret_link) {
    (void)n_options;
    (void)options;
    (void)values;
    return give_handle(ret_link);
}

TIDE_VC_EXPORT int cuLinkAddData_v2(void *link) {
    (void)link;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuLinkComplete(void *link, void **ret_image, size_t *ret_n_bytes) {
    *ret_image = link;
    *ret_n_bytes = TIDE_VC_HANDLE_BYTES;
    return TIDE_VC_OK;
}

/* CUfunction_attribute: 0 threads of a block, 1 static shared memory, 4 registers, a guess if the
 * image cannot be read. */
TIDE_VC_EXPORT int cuFuncGetAttribute(int *ret_value, int attribute, void *kernel) {
    tide_vc_use use = {.n_registers = 32};
    (void)tide_vc_use_of(kernel, tide_vc_device(), &use);
    *ret_value = attribute == 0   ? TIDE_CHIP_MAX_BLOCK_THREADS
                 : attribute == 1 ? (int)use.shared_bytes
                 : attribute == 4 ? (int)use.n_registers
                                  : 0;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuFuncSetAttribute(void *kernel, int attribute, int value) {
    (void)kernel;
    (void)attribute;
    (void)value;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuFuncSetCacheConfig(void *kernel, int config) {
    (void)kernel;
    (void)config;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_n, void *kernel,
                                                               int n_threads, size_t shared_bytes) {
    *ret_n = tide_vc_occupancy(kernel, tide_vc_device(), n_threads, shared_bytes);
    return TIDE_VC_OK;
}

/* Arguments come as a list of addresses, or packed into a buffer. */
static int launch(const tide_vc_kernel_call *call, void **packed, void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    tide_vc_count_launches(tide_vc_device(), tide_vc_stream_of(stream)->capture == NULL);
    tide_vc_unknown_generated();
    if (packed != NULL) {
        tide_vc_launched_packed(packed);
    } else {
        tide_vc_launched_generated(call->kernel, call->arguments);
    }
    tide_vc_stream_work(stream);
    tide_vc_log_kernel(entry, call, stream);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuLaunchKernel(void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z,
                                  unsigned shared_bytes, void *stream, void **arguments,
                                  void **packed) {
    (void)shared_bytes;
    tide_vc_kernel_call call = {kernel,
                                tide_vc_kernel_name(kernel),
                                {grid_x, grid_y, grid_z},
                                {block_x, block_y, block_z},
                                arguments};
    return launch(&call, packed, stream);
}

TIDE_VC_EXPORT int cuLaunchCooperativeKernel(void *kernel, unsigned grid_x, unsigned grid_y,
                                             unsigned grid_z, unsigned block_x, unsigned block_y,
                                             unsigned block_z, unsigned shared_bytes, void *stream,
                                             void **arguments) {
    return cuLaunchKernel(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                          stream, arguments, NULL);
}

/* CUlaunchConfig. An attribute has 72 bytes: its number, and its value at offset 8. */
typedef struct driver_launch {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    const unsigned char *attributes;
    unsigned n_attributes;
} driver_launch;

TIDE_VC_EXPORT int cuLaunchKernelEx(const driver_launch *config, void *kernel, void **arguments,
                                    void **packed) {
    tide_vc_kernel_call call = {
        .kernel = kernel, .name = tide_vc_kernel_name(kernel), .arguments = arguments};
    memcpy(call.grid, config->grid, sizeof(call.grid));
    memcpy(call.block, config->block, sizeof(call.block));
    return launch(&call, packed, config->stream);
}

/* CUtensorMap is 128 bytes that only kernels read. */
TIDE_VC_EXPORT int cuTensorMapEncodeTiled(void *ret_map) {
    memset(ret_map, 0, 128);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuTensorMapEncodeIm2colWide(void *ret_map) {
    return cuTensorMapEncodeTiled(ret_map);
}

TIDE_VC_EXPORT int cuTensorMapEncodeIm2col(void *ret_map) {
    return cuTensorMapEncodeTiled(ret_map);
}

enum { ATTRIBUTE_BYTES = 72, CLUSTER_DIMENSION = 4, CLUSTER_AT = 8, MULTIPROCESSORS = 16 };

/* As many clusters as the multiprocessors hold blocks for. A card's groups of multiprocessors may
 * hold fewer, but their limits are unpublished; the result sets the size of a grid and no
 * memory. */
TIDE_VC_EXPORT int cuOccupancyMaxActiveClusters(int *ret_n, void *kernel,
                                                const driver_launch *config) {
    unsigned cluster[3] = {1, 1, 1};
    for (unsigned i = 0; i < config->n_attributes; i++) {
        const unsigned char *attribute = config->attributes + (size_t)i * ATTRIBUTE_BYTES;
        if (*(const int *)(const void *)attribute == CLUSTER_DIMENSION) {
            memcpy(cluster, attribute + CLUSTER_AT, sizeof(cluster));
        }
    }
    unsigned n_blocks = cluster[0] * cluster[1] * cluster[2];
    int n_threads = (int)(config->block[0] * config->block[1] * config->block[2]);
    int device = tide_vc_device();
    int n_resident = tide_vc_occupancy(kernel, device, n_threads, config->shared_bytes);
    *ret_n = tide_vc_attribute(MULTIPROCESSORS, device) * n_resident /
             (int)(n_blocks > 0 ? n_blocks : 1);
    return TIDE_VC_OK;
}
