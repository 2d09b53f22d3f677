/* Devices of the runtime: their number, the current one, versions, limits, peers. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/wire/python_package.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/order/order.h"
#include "programs/virtual_cuda/api/status.h"

static bool is_device_number(int device) {
    return device >= 0 && device < tide_vc_n_devices();
}

TIDE_VC_EXPORT int cudaGetDeviceCount(int *ret_n) {
    tide_python_package_wake();
    *ret_n = tide_vc_n_devices();
    return tide_vc_fail(*ret_n > 0 ? TIDE_VC_OK : TIDE_VC_NO_DEVICE);
}

TIDE_VC_EXPORT int cudaGetDevice(int *ret_device) {
    *ret_device = tide_vc_device();
    return TIDE_VC_OK;
}

/* Since CUDA 12 this makes the device's context. */
TIDE_VC_EXPORT int cudaSetDevice(int device) {
    if (!is_device_number(device)) {
        return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
    }
    tide_vc_set_device(device);
    return tide_vc_has_context(device) || tide_vc_runtime_major() < 12
               ? TIDE_VC_OK
               : tide_vc_fail(tide_vc_context(device));
}

TIDE_VC_EXPORT int cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    (void)device_flags;
    (void)flags;
    return tide_vc_fail(is_device_number(device) ? tide_vc_context(device)
                                                 : TIDE_VC_INVALID_DEVICE);
}

TIDE_VC_EXPORT int cudaDeviceSynchronize(void) {
    tide_vc_wait_device(tide_vc_device());
    return tide_vc_fail(tide_vc_context(tide_vc_device()));
}

TIDE_VC_EXPORT int cudaSetDeviceFlags(unsigned flags) {
    (void)flags;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaGetDeviceFlags(unsigned *ret_flags) {
    *ret_flags = 0;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDriverGetVersion(int *ret_version) {
    *ret_version = TIDE_VC_DRIVER_VERSION;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaRuntimeGetVersion(int *ret_version) {
    *ret_version = tide_vc_runtime_version();
    return TIDE_VC_OK;
}

/* That of the first release of the major version: the real library fails without a driver. */
TIDE_VC_EXPORT int cuptiGetVersion(uint32_t *ret_version) {
    enum { OF_CUDA_12 = 18, OF_CUDA_13 = 130000 };
    *ret_version = tide_vc_runtime_major() >= 13 ? OF_CUDA_13 : OF_CUDA_12;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceCanAccessPeer(int *ret_can, int device, int peer) {
    if (!is_device_number(device) || !is_device_number(peer)) {
        return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
    }
    *ret_can = device != peer;
    return TIDE_VC_OK;
}

/* All pairs of cards are alike: rank 0 is the fastest. Arrays are not simulated. */
TIDE_VC_EXPORT int cudaDeviceGetP2PAttribute(int *ret_value, int attribute, int device, int peer) {
    enum { RANK = 1, ACCESS, NATIVE_ATOMICS, ARRAY_ACCESS, PARTLY_NATIVE_ATOMICS };
    int can_access = 0;
    int status = cudaDeviceCanAccessPeer(&can_access, device, peer);
    if (status != TIDE_VC_OK) {
        return status;
    }
    if (can_access == 0) { /* the same device */
        return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
    }
    if (ret_value == NULL || attribute < RANK || attribute > PARTLY_NATIVE_ATOMICS) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    *ret_value = attribute == ACCESS || attribute == NATIVE_ATOMICS;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    (void)flags;
    return tide_vc_fail(is_device_number(peer) ? TIDE_VC_OK : TIDE_VC_INVALID_DEVICE);
}

TIDE_VC_EXPORT int cudaDeviceDisablePeerAccess(int peer) {
    (void)peer;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceGetPCIBusId(char *ret_text, int n_bytes, int device) {
    if (!is_device_number(device) || n_bytes <= 0) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    (void)snprintf(ret_text, (size_t)n_bytes, "0000:%02X:00.0",
                   (unsigned)tide_vc_card_of(device)->number + 1);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceGetByPCIBusId(int *ret_device, const char *text) {
    const char *colon = strchr(text, ':');
    long bus = colon != NULL ? strtol(colon + 1, NULL, 16) : 0;
    for (int device = 0; device < tide_vc_n_devices(); device++) {
        if (tide_vc_card_of(device)->number + 1 == bus) {
            *ret_device = device;
            return TIDE_VC_OK;
        }
    }
    return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
}

TIDE_VC_EXPORT int cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest) {
    if (ret_least != NULL) {
        *ret_least = 0;
    }
    if (ret_greatest != NULL) {
        *ret_greatest = -5;
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaProfilerStart(void) {
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaProfilerStop(void) {
    return TIDE_VC_OK;
}
