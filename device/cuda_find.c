/* cuda_find.c - which GPUs this machine has, their properties, and why none is found. */
#include "device/cuda_friend.h"

#if TIDEMARK_HAVE_CUDA

#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "device/cards.h"

/* Explains why no device is found, and the remedy. */
static tide_status fail_absent(cudaError_t result, int driver_version, int runtime_version,
                               tide_error *error) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    (void)cudaGetLastError(); /* a normal answer, which the next check must not find */
    switch ((int)result) {
    case cudaErrorStubLibrary:
        return tide_fail(
            error, TIDE_DEVICE_ABSENT,
            "libcuda.so.1 is the CUDA toolkit's stub, not a driver: take the toolkit's "
            "stubs folder off LD_LIBRARY_PATH, or " TIDE_DEVICE_CUDA_REMEDY);
    case cudaErrorInsufficientDriver:
        return tide_fail(error, TIDE_DEVICE_ABSENT,
                         "the NVIDIA driver is too old: it brings CUDA %d.%d, and this program "
                         "needs %d.%d: update the driver, or " TIDE_DEVICE_CUDA_REMEDY,
                         driver_version / 1000, driver_version % 1000 / 10, runtime_version / 1000,
                         runtime_version % 1000 / 10);
    case cudaErrorNoDevice:
        if (visible != NULL) {
            return tide_fail(error, TIDE_DEVICE_ABSENT,
                             "CUDA_VISIBLE_DEVICES=\"%.200s\" hides every GPU from this program: "
                             "unset it, or " TIDE_DEVICE_CUDA_REMEDY,
                             visible);
        }
        return tide_fail(
            error, TIDE_DEVICE_ABSENT,
            "the NVIDIA driver (CUDA %d.%d) finds no GPU: look whether nvidia-smi "
            "lists one and whether this program may use it, or " TIDE_DEVICE_CUDA_REMEDY,
            driver_version / 1000, driver_version % 1000 / 10);
    default:
        return tide_fail(
            error, TIDE_DEVICE_ABSENT,
            "the NVIDIA driver (CUDA %d.%d) answers: %s (CUDA error %d); " TIDE_DEVICE_CUDA_REMEDY,
            driver_version / 1000, driver_version % 1000 / 10, cudaGetErrorString(result),
            (int)result);
    }
}

/* Writes both versions into `info`. */
tide_status tide_device_cuda_find(int ordinal, tide_device_info *info, tide_error *error) {
    int driver_version = 0;
    int runtime_version = 0;
    int n_devices = 0;
    cudaError_t result = cudaDriverGetVersion(&driver_version);
    if (result == cudaSuccess) {
        result = cudaRuntimeGetVersion(&runtime_version);
    }
    if (result == cudaSuccess) {
        result = cudaGetDeviceCount(&n_devices);
    }
    if (result == cudaErrorInsufficientDriver && driver_version == 0) {
        (void)cudaGetLastError();
        return tide_fail(error, TIDE_DEVICE_ABSENT,
                         "no NVIDIA driver is installed: " TIDE_DEVICE_CUDA_REMEDY);
    }
    if (result == cudaSuccess && n_devices == 0) {
        result = cudaErrorNoDevice;
    }
    if (result != cudaSuccess) {
        return fail_absent(result, driver_version, runtime_version, error);
    }
    if (ordinal >= n_devices) {
        return tide_fail(
            error, TIDE_DEVICE_ABSENT,
            "there is no cuda:%d: the driver shows %d GPU%s%s; " TIDE_DEVICE_CUDA_REMEDY, ordinal,
            n_devices, n_devices == 1 ? "" : "s",
            getenv("CUDA_VISIBLE_DEVICES") != NULL ? " (CUDA_VISIBLE_DEVICES is set)" : "");
    }
    info->driver_version = driver_version;
    info->runtime_version = runtime_version;
    return TIDE_OK;
}

tide_status tide_device_cuda_read_properties(tide_device_cuda *cuda, tide_error *error) {
    tide_device_info *info = &cuda->base.info;
    struct cudaDeviceProp properties;
    TIDE_TRY(tide_device_cuda_answer(&cuda->base, "cudaGetDeviceProperties",
                                     (int)cudaGetDeviceProperties(&properties, cuda->ordinal),
                                     error));
    (void)snprintf(info->name, sizeof(info->name), "%.*s", (int)sizeof(info->name) - 1,
                   properties.name);
    info->total_bytes = (int64_t)properties.totalGlobalMem;
    int cache_bytes = 0;
    const struct {
        enum cudaDeviceAttr attribute; /* the attribute to query */
        int *ret_value;                /* where it goes */
    } ATTRIBUTES[] = {
        {cudaDevAttrComputeCapabilityMajor, &info->compute_capability},
        {cudaDevAttrComputeCapabilityMinor, NULL},
        {cudaDevAttrClockRate, &info->sm_clock_khz},
        {cudaDevAttrMemoryClockRate, &info->memory_clock_khz},
        {cudaDevAttrGlobalMemoryBusWidth, &info->memory_bus_bits},
        {cudaDevAttrL2CacheSize, &cache_bytes},
    };
    for (size_t i = 0; i < sizeof(ATTRIBUTES) / sizeof(ATTRIBUTES[0]); i++) {
        int value = 0;
        TIDE_TRY(tide_device_cuda_answer(
            &cuda->base, "cudaDeviceGetAttribute",
            (int)cudaDeviceGetAttribute(&value, ATTRIBUTES[i].attribute, cuda->ordinal), error));
        if (ATTRIBUTES[i].ret_value != NULL) {
            *ATTRIBUTES[i].ret_value = value;
        } else {
            info->compute_capability = 10 * info->compute_capability + value;
        }
    }
    info->cache_bytes = cache_bytes > 0 ? cache_bytes : -1;
    info->workspace_bytes = tide_card_workspace_bytes(info->compute_capability);
    return TIDE_OK;
}

#endif
