/* Kernels: queried and launched, never run. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/card/address.h"
#include "programs/virtual_cuda/api/attributes.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/api/handle.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/launches/images.h"
#include "programs/virtual_cuda/launches/launched.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/launches/missing_image.h"
#include "programs/virtual_cuda/launches/modules.h"
#include "programs/virtual_cuda/nccl/watchdog.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/order/streams.h"
#include "programs/virtual_cuda/launches/uses.h"
#include "programs/virtual_cuda/launches/kernels/work.h"

/* dim3, which is passed by value: two of them as in NVIDIA's headers. */
typedef struct extent {
    unsigned x, y, z;
} extent;

/* cudaLaunchConfig_t up to the stream. */
typedef struct launch_config {
    extent grid, block;
    size_t shared_bytes;
    void *stream;
} launch_config;

enum { GUESSED_REGISTERS = 32 }; /* of a thread of a kernel whose image cannot be read */

static int launch(const launch_config *config, const void *kernel, void **arguments) {
    const char *name = tide_vc_kernel_to_launch(kernel, tide_vc_device());
    if (name == NULL) {
        return tide_vc_refuse_kernel();
    }
    tide_vc_entry entry = tide_vc_launch_begin();
    tide_vc_watchdog_settle();
    tide_vc_launched(name, arguments, config->stream);
    tide_vc_stream_work(config->stream);
    tide_vc_kernel_call call = {kernel,
                                name,
                                {config->grid.x, config->grid.y, config->grid.z},
                                {config->block.x, config->block.y, config->block.z},
                                arguments};
    tide_vc_log_kernel(entry, &call, config->stream);
    tide_vc_count_launches(tide_vc_device(), tide_vc_stream_of(config->stream)->capture == NULL);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaLaunchKernel(const void *kernel, extent grid, extent block, void **arguments,
                                    size_t shared_bytes, void *stream) {
    launch_config config = {grid, block, shared_bytes, stream};
    return launch(&config, kernel, arguments);
}

TIDE_VC_EXPORT int cudaLaunchCooperativeKernel(const void *kernel, extent grid, extent block,
                                               void **arguments, size_t shared_bytes,
                                               void *stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

TIDE_VC_EXPORT int __cudaLaunchKernel(void *kernel, extent grid, extent block, void **arguments,
                                      size_t shared_bytes, void *stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

TIDE_VC_EXPORT int cudaLaunchKernelExC(const launch_config *config, const void *kernel,
                                       void **arguments) {
    return launch(config, kernel, arguments);
}

static _Thread_local launch_config pushed;

TIDE_VC_EXPORT unsigned __cudaPushCallConfiguration(extent grid, extent block, size_t shared_bytes,
                                                    void *stream) {
    pushed = (launch_config){grid, block, shared_bytes, stream};
    return 0;
}

TIDE_VC_EXPORT int __cudaPopCallConfiguration(extent *ret_grid, extent *ret_block,
                                              size_t *ret_shared_bytes, void **ret_stream) {
    *ret_grid = pushed.grid;
    *ret_block = pushed.block;
    *ret_shared_bytes = pushed.shared_bytes;
    *ret_stream = pushed.stream;
    return TIDE_VC_OK;
}

/* A kernel's handle is its address in the program. */
static int same_handle(void **ret_kernel, const void *host) {
    *ret_kernel = (void *)(uintptr_t)host;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int __cudaGetKernel(void **ret_kernel, const void *host) {
    return same_handle(ret_kernel, host);
}

TIDE_VC_EXPORT int cudaGetKernel(void **ret_kernel, const void *host) {
    return same_handle(ret_kernel, host);
}

TIDE_VC_EXPORT int cudaGetFuncBySymbol(void **ret_kernel, const void *host) {
    return same_handle(ret_kernel, host);
}

/* cudaFuncAttributes, the part before the clusters' members. */
typedef struct kernel_attributes {
    size_t shared_bytes, constant_bytes, local_bytes;
    int max_threads, n_registers, ptx_version, binary_version;
    int cache_mode, max_dynamic_shared_bytes, preferred_carveout;
} kernel_attributes;

TIDE_VC_EXPORT int cudaFuncGetAttributes(kernel_attributes *ret, const void *kernel) {
    if (tide_vc_kernel_has_no_image(kernel, tide_vc_device())) {
        return tide_vc_refuse_kernel();
    }
    tide_vc_image image = tide_vc_image_of(kernel, tide_vc_device());
    tide_vc_use use = {.n_registers = GUESSED_REGISTERS};
    (void)tide_vc_use_of(kernel, tide_vc_device(), &use);
    *ret = (kernel_attributes){.max_threads = TIDE_CHIP_MAX_BLOCK_THREADS,
                               .n_registers = (int)use.n_registers,
                               .shared_bytes = use.shared_bytes,
                               .ptx_version = image.ptx_version,
                               .binary_version = image.binary_version,
                               .max_dynamic_shared_bytes = TIDE_CHIP_SHARED_BLOCK_BYTES,
                               .preferred_carveout = -1};
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaFuncSetAttribute(const void *kernel, int attribute, int value) {
    (void)kernel;
    (void)attribute;
    (void)value;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaFuncSetCacheConfig(const void *kernel, int config) {
    (void)kernel;
    (void)config;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *ret_n, const void *kernel, int n_threads, size_t shared_bytes, unsigned flags) {
    (void)flags;
    *ret_n = tide_vc_occupancy(kernel, tide_vc_device(), n_threads, shared_bytes);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_n, const void *kernel,
                                                                 int n_threads,
                                                                 size_t shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_n, kernel, n_threads,
                                                                  shared_bytes, 0);
}

/* ---- variables of a program on the device: each gets its address at the first query ----
 */

enum { MAX_VARIABLES = 4096, VARIABLE_BYTES = 4096 };

typedef struct variable {
    const void *host;
    uint64_t address;
} variable;

/* The lock guards it. */
static struct variables {
    variable all[MAX_VARIABLES];
    size_t n; /* at most MAX_VARIABLES */
} variables;
TIDE_VC_LOCK(lock, NULL);

/* The variable's address, which is `made` for a new one. The lock is held. 0: it is new, and `made`
 * is 0 or the table is full. */
static uint64_t address_of(const void *host, uint64_t made) {
    for (size_t i = 0; i < variables.n; i++) {
        if (variables.all[i].host == host) {
            return variables.all[i].address;
        }
    }
    if (made != 0 && variables.n < MAX_VARIABLES) {
        variables.all[variables.n++] = (variable){host, made};
        return made;
    }
    return 0;
}

TIDE_VC_EXPORT int cudaGetSymbolAddress(void **ret_address, const void *host) {
    pthread_mutex_lock(&lock);
    uint64_t address = address_of(host, 0);
    pthread_mutex_unlock(&lock);
    if (address == 0) {
        uint64_t made = tide_vc_address_take(VARIABLE_BYTES);
        pthread_mutex_lock(&lock);
        address = address_of(host, made);
        pthread_mutex_unlock(&lock);
        if (made != 0 && address != made) {
            tide_vc_address_give_back(made, VARIABLE_BYTES);
        }
    }
    *ret_address = (void *)(uintptr_t)address;
    return tide_vc_fail(address != 0 ? TIDE_VC_OK : tide_vc_host_failed("a variable of a kernel"));
}

/* ---- libraries that are loaded at run time ---- */

TIDE_VC_EXPORT int cudaLibraryLoadData(void **ret_library, const void *image) {
    *ret_library = tide_vc_handle_new();
    tide_vc_module_read(*ret_library, image);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaFuncGetName(const char **ret_name, const void *kernel) {
    *ret_name = tide_vc_kernel_name(kernel);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaLibraryGetKernel(void **ret_kernel, void *library, const char *name) {
    *ret_kernel = tide_vc_kernel_new(name);
    tide_vc_module_kernel(library, *ret_kernel, name);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaLibraryUnload(void *library) {
    tide_vc_module_forget(library);
    tide_vc_handle_release(library);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value,
                                                   int device) {
    (void)kernel;
    (void)attribute;
    (void)value;
    (void)device;
    return TIDE_VC_OK;
}
