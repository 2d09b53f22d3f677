/* driver_modules.c - variables of modules and parameters of kernels, under the names of the driver
 * and of the runtime. Kernels of the runtime are the driver's. */
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/launches/modules.h"

TIDE_VC_EXPORT int cuModuleGetGlobal_v2(uint64_t *ret_address, size_t *ret_n_bytes, void *module,
                                        const char *name) {
    return tide_vc_module_variable("cuModuleGetGlobal_v2", module, name, ret_address, ret_n_bytes);
}

TIDE_VC_EXPORT int cuLibraryGetGlobal(uint64_t *ret_address, size_t *ret_n_bytes, void *library,
                                      const char *name) {
    return tide_vc_module_variable("cuLibraryGetGlobal", library, name, ret_address, ret_n_bytes);
}

TIDE_VC_EXPORT int cudaLibraryGetGlobal(void **ret_address, size_t *ret_n_bytes, void *library,
                                        const char *name) {
    uint64_t address = 0;
    int status =
        tide_vc_module_variable("cudaLibraryGetGlobal", library, name, &address, ret_n_bytes);
    if (status == TIDE_VC_OK && ret_address != NULL) {
        *ret_address = (void *)(uintptr_t)address;
    }
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cuKernelGetParamInfo(void *kernel, size_t number, size_t *ret_offset,
                                        size_t *ret_n_bytes) {
    return tide_vc_module_parameter("cuKernelGetParamInfo", kernel, number, ret_offset,
                                    ret_n_bytes);
}

TIDE_VC_EXPORT int cuFuncGetParamInfo(void *kernel, size_t number, size_t *ret_offset,
                                      size_t *ret_n_bytes) {
    return tide_vc_module_parameter("cuFuncGetParamInfo", kernel, number, ret_offset, ret_n_bytes);
}

static int give_module(const void *kernel, void **ret_module) {
    void *module = tide_vc_module_of(kernel);
    if (module == NULL) {
        return TIDE_VC_INVALID_HANDLE;
    }
    *ret_module = module;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuFuncGetModule(void **ret_module, void *kernel) {
    return give_module(kernel, ret_module);
}

TIDE_VC_EXPORT int cuKernelGetLibrary(void **ret_library, void *kernel) {
    return give_module(kernel, ret_library);
}
