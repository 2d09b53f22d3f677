/* Contexts, libraries of kernels and their attributes under newer and older names of the driver,
 * which numba, cuda.core and others call besides the functions of driver.c. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/handle.h"
#include "programs/virtual_cuda/launches/images.h"
#include "programs/virtual_cuda/launches/modules.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/launches/kernels/triton.h"
#include "programs/virtual_cuda/launches/stores.h"

int cuCtxSynchronize(void);
int cuDevicePrimaryCtxRetain(void **ret_context, int device);
int cuFuncGetAttribute(int *ret_value, int attribute, void *kernel);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_n, void *kernel, int n_threads,
                                                size_t shared_bytes);
int cuGetProcAddress_v2(const char *name, void **ret_function, int version, uint64_t flags,
                        int *ret_found);
int cudaDeviceGetPCIBusId(char *ret_text, int n_bytes, int device);

static int check_device(int device) {
    return device >= 0 && device < tide_vc_n_devices() ? TIDE_VC_OK : TIDE_VC_INVALID_DEVICE;
}

/* ---- contexts: each device has one ---- */

TIDE_VC_EXPORT int cuCtxGetFlags(unsigned *ret_flags) {
    *ret_flags = 0;
    return TIDE_VC_OK;
}

enum { API_VERSION = 3020 }; /* of every driver since CUDA 3.2 */

TIDE_VC_EXPORT int cuCtxGetApiVersion(void *context, unsigned *ret_version) {
    (void)context;
    *ret_version = API_VERSION;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuCtxGetId(void *context, unsigned long long *ret_id) {
    (void)context;
    *ret_id = (unsigned long long)tide_vc_device() + 1;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuCtxCreate_v2(void **ret_context, unsigned flags, int device) {
    (void)flags;
    int status = cuDevicePrimaryCtxRetain(ret_context, device);
    if (status == TIDE_VC_OK) {
        tide_vc_set_device(device);
    }
    return status;
}

TIDE_VC_EXPORT int cuCtxCreate_v4(void **ret_context, void *parameters, unsigned flags,
                                  int device) {
    (void)parameters;
    return cuCtxCreate_v2(ret_context, flags, device);
}

TIDE_VC_EXPORT int cuDeviceComputeCapability(int *ret_major, int *ret_minor, int device) {
    int status = check_device(device);
    if (status == TIDE_VC_OK) {
        *ret_major = tide_vc_card_of(device)->major;
        *ret_minor = tide_vc_card_of(device)->minor;
    }
    return status;
}

TIDE_VC_EXPORT int cuDeviceGetPCIBusId(char *ret_text, int n_bytes, int device) {
    int status = check_device(device);
    return status == TIDE_VC_OK ? cudaDeviceGetPCIBusId(ret_text, n_bytes, device) : status;
}

/* ---- libraries of kernels, which newer programs load instead of modules ---- */

TIDE_VC_EXPORT int cuLibraryLoadData(void **ret_library, const void *image) {
    *ret_library = tide_vc_handle_new();
    tide_vc_module_read(*ret_library, image);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuLibraryLoadFromFile(void **ret_library, const char *path) {
    *ret_library = tide_vc_handle_new();
    if (path != NULL && strlen(path) < TIDE_VC_HANDLE_BYTES) {
        memcpy(*ret_library, path, strlen(path) + 1); /* as cuModuleLoad */
    }
    tide_vc_module_read_file(*ret_library, path);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuLibraryUnload(void *library) {
    tide_vc_module_forget(library);
    tide_vc_handle_release(library);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuLibraryGetModule(void **ret_module, void *library) {
    *ret_module = library;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuLibraryGetKernel(void **ret_kernel, void *library, const char *name) {
    *ret_kernel = tide_vc_kernel_new(name);
    tide_vc_triton_add(*ret_kernel, library);
    tide_vc_stores_add(*ret_kernel, library);
    tide_vc_module_kernel(library, *ret_kernel, name);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuKernelGetFunction(void **ret_function, void *kernel) {
    *ret_function = kernel;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuKernelGetName(const char **ret_name, void *kernel) {
    *ret_name = tide_vc_kernel_name(kernel);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuFuncGetName(const char **ret_name, void *kernel) {
    return cuKernelGetName(ret_name, kernel);
}

TIDE_VC_EXPORT int cuFuncIsLoaded(int *ret_is_loaded, void *kernel) {
    (void)kernel;
    *ret_is_loaded = 1;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuKernelGetAttribute(int *ret_value, int attribute, void *kernel, int device) {
    (void)device;
    return cuFuncGetAttribute(ret_value, attribute, kernel);
}

enum { LAZY = 2 }; /* CU_MODULE_LAZY_LOADING */

TIDE_VC_EXPORT int cuModuleGetLoadingMode(int *ret_mode) {
    *ret_mode = LAZY;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuModuleLoadFatBinary(void **ret_module, const void *image) {
    return cuLibraryLoadData(ret_module, image);
}

TIDE_VC_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_n, void *kernel,
                                                                        int n_threads,
                                                                        size_t shared_bytes,
                                                                        unsigned flags) {
    (void)flags;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(ret_n, kernel, n_threads, shared_bytes);
}

/* The first form does not report why it found nothing. */
TIDE_VC_EXPORT int cuGetProcAddress(const char *name, void **ret_function, int version,
                                    uint64_t flags) {
    return cuGetProcAddress_v2(name, ret_function, version, flags, NULL);
}
