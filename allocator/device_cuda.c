/* device_cuda.c - says why there is no cuda device: this version finds GPUs, but brings no
 * operators for them. */
#include "allocator/device_internal.h"

#ifndef TIDEMARK_HAVE_CUDA
#define TIDEMARK_HAVE_CUDA 0
#endif

#define REMEDY "use cpu, or virtual:CARD for the memory of a card"

#if TIDEMARK_HAVE_CUDA

#include <cuda_runtime_api.h>

tide_status tide_device_cuda_open(int ordinal, const tide_device_options *options,
                                  tide_device **ret_device, tide_error *error) {
    (void)options;
    (void)ret_device;
    int driver_version = 0;
    int n_devices = 0;
    cudaError_t result = cudaDriverGetVersion(&driver_version);
    if (result != cudaSuccess || driver_version == 0) {
        (void)cudaGetLastError(); /* an answer, not a fault to be found by the next call */
        return tide_fail(error, TIDE_DEVICE_ABSENT, "no NVIDIA driver is installed: " REMEDY);
    }
    result = cudaGetDeviceCount(&n_devices);
    if (result != cudaSuccess) {
        (void)cudaGetLastError();
        return tide_fail(
            error, TIDE_DEVICE_ABSENT, "the NVIDIA driver (CUDA %d.%d) answers: %s; " REMEDY,
            driver_version / 1000, driver_version % 1000 / 10, cudaGetErrorString(result));
    }
    if (ordinal >= n_devices) {
        return tide_fail(error, TIDE_DEVICE_ABSENT,
                         "there is no cuda:%d: the driver shows %d device%s; " REMEDY, ordinal,
                         n_devices, n_devices == 1 ? "" : "s");
    }
    return tide_fail(error, TIDE_DEVICE_ABSENT,
                     "cuda:%d is here, but this version has no operators for it: " REMEDY, ordinal);
}

#else

tide_status tide_device_cuda_open(int ordinal, const tide_device_options *options,
                                  tide_device **ret_device, tide_error *error) {
    (void)ordinal;
    (void)options;
    (void)ret_device;
    return tide_fail(error, TIDE_DEVICE_ABSENT,
                     "this build has no CUDA: configure with -DTIDEMARK_CUDA=ON, or " REMEDY);
}

#endif
