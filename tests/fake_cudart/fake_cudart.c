#include "fake_cudart/fake_cudart.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_profiler_api.h>

#include "cuda_emulator/device_memory.h"
#include "fake_cudart/fake_copies.h"
#include "fake_cudart/fake_driver.h"
#include "fake_cudart/fake_graph.h"
#include "fake_cudart/fake_internal.h"
#include "fake_cudart/fake_memory.h"

static tide_fake_cudart state;
static struct {
    pthread_mutex_t lock;                     /* guards state and all of this */
    bool is_set;                              /* state has its first values */
    cudaError_t sticky;                       /* what ended the context; cudaSuccess: nothing */
    bool is_told;                             /* a call of this runtime has answered `sticky` */
    size_t used_bytes[TIDE_FAKE_MAX_DEVICES]; /* of segments */
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local cudaError_t last_error;
static _Thread_local int current_device;

static void set_first_values(void) {
    const char *n_devices = getenv("TIDE_FAKE_DEVICES");
    state = (tide_fake_cudart){.driver = TIDE_FAKE_DRIVER_PRESENT,
                               .driver_version = 13000,
                               .n_devices = n_devices != NULL ? atoi(n_devices) : 1,
                               .compute_capability = 90,
                               .capacity_bytes = (size_t)80 << 30,
                               .context_bytes = (size_t)512 << 20};
    runtime.is_set = true;
}

tide_fake_cudart *tide_fake_cudart_state(void) {
    pthread_mutex_lock(&runtime.lock);
    if (!runtime.is_set) {
        set_first_values();
    }
    pthread_mutex_unlock(&runtime.lock);
    return &state;
}

tide_fake_cudart *tide_fake_cudart_locked(void) {
    return &state;
}

void tide_fake_cudart_reset(void) {
    pthread_mutex_lock(&runtime.lock);
    tide_fake_copies_clear();
    tide_fake_queue_clear();
    tide_fake_memory_clear();
    tide_fake_driver_clear();
    tide_fake_clear_handles();
    tide_fake_graph_clear();
    memset(runtime.used_bytes, 0, sizeof(runtime.used_bytes));
    runtime.sticky = cudaSuccess;
    runtime.is_told = false;
    set_first_values();
    pthread_mutex_unlock(&runtime.lock);
    last_error = cudaSuccess;
    current_device = 0;
}

void tide_fake_cudart_fail(const char *function, size_t n, cudaError_t error) {
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->fail_function = function;
    fake->fail_call = n;
    fake->fail_with = error;
    fake->n_calls = 0;
    fake->failed_in = NULL;
}

/* The answer of a machine in this state to every call; cudaSuccess if there is a device. */
static cudaError_t driver_error(void) {
    switch (state.driver) {
    case TIDE_FAKE_DRIVER_PRESENT:
        break;
    case TIDE_FAKE_DRIVER_NONE:
    case TIDE_FAKE_DRIVER_TOO_OLD:
        return cudaErrorInsufficientDriver;
    case TIDE_FAKE_DRIVER_STUB:
        return cudaErrorStubLibrary;
    case TIDE_FAKE_DRIVER_NO_DEVICE:
        return cudaErrorNoDevice;
    }
    return state.n_devices == 0 ? cudaErrorNoDevice : cudaSuccess;
}

static bool ends_context(cudaError_t error) {
    switch ((int)error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
        return true;
    default:
        return false;
    }
}

cudaError_t tide_fake_enter(const char *function) {
    pthread_mutex_lock(&runtime.lock);
    if (!runtime.is_set) {
        set_first_values();
    }
    cudaError_t error = driver_error();
    if (error != cudaSuccess) {
        return error;
    }
    if (state.fail_function == NULL || strcmp(state.fail_function, function) == 0) {
        state.n_calls++;
        if (state.n_calls == state.fail_call) {
            state.failed_in = function;
            return state.fail_with;
        }
    }
    return runtime.sticky;
}

void tide_fake_lock(void) {
    pthread_mutex_lock(&runtime.lock);
}

static void keep_sticky(cudaError_t result) {
    if (ends_context(result) && runtime.sticky == cudaSuccess) {
        runtime.sticky = result;
    }
}

cudaError_t tide_fake_leave(cudaError_t result) {
    keep_sticky(result);
    if (result != cudaSuccess) {
        last_error = result;
        runtime.is_told = runtime.sticky != cudaSuccess;
    }
    pthread_mutex_unlock(&runtime.lock);
    return result;
}

/* Work goes to the current device. */
static void submit(cudaError_t result) {
    if (result == cudaSuccess) {
        tide_fake_copies_submit();
        state.n_launches[current_device]++;
    }
}

cudaError_t tide_fake_leave_beside(cudaError_t result) {
    keep_sticky(result);
    pthread_mutex_unlock(&runtime.lock);
    return result;
}

size_t tide_fake_room(int device) {
    return state.capacity_bytes - state.context_bytes - runtime.used_bytes[device];
}

void tide_fake_count_bytes(int device, size_t n_taken, size_t n_given_back) {
    runtime.used_bytes[device] += n_taken - n_given_back;
    state.used_bytes += n_taken - n_given_back;
}

cudaError_t tide_fake_cudart_enter(const char *function) {
    cudaError_t result = tide_fake_enter(function);
    submit(result);
    return tide_fake_leave(result);
}

cudaError_t tide_fake_cudart_enter_beside(const char *function) {
    cudaError_t result = tide_fake_enter(function);
    submit(result);
    return tide_fake_leave_beside(result);
}

cudaError_t tide_fake_mistake(cudaError_t error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(state.mistake, sizeof(state.mistake), format, arguments);
    va_end(arguments);
    state.n_mistakes++;
    return error;
}

/* Errors. Without a driver and in a dead context the last error cannot be cleared. */

cudaError_t cudaPeekAtLastError(void) {
    pthread_mutex_lock(&runtime.lock);
    cudaError_t error = runtime.is_set ? driver_error() : cudaSuccess;
    bool has_no_driver = error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary;
    bool is_dead = runtime.sticky != cudaSuccess && runtime.is_told;
    cudaError_t answer = has_no_driver ? error : is_dead ? runtime.sticky : last_error;
    pthread_mutex_unlock(&runtime.lock);
    return answer;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t answer = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return answer;
}

static const char *const NAMES[][2] = {
    [cudaSuccess] = {"cudaSuccess", "no error"},
    [cudaErrorInvalidValue] = {"cudaErrorInvalidValue", "invalid argument"},
    [cudaErrorMemoryAllocation] = {"cudaErrorMemoryAllocation", "out of memory"},
    [cudaErrorStubLibrary] = {"cudaErrorStubLibrary", "CUDA driver is a stub library"},
    [cudaErrorInsufficientDriver] = {"cudaErrorInsufficientDriver",
                                     "CUDA driver version is insufficient"},
    [cudaErrorNoDevice] = {"cudaErrorNoDevice", "no CUDA-capable device is detected"},
    [cudaErrorInvalidDevice] = {"cudaErrorInvalidDevice", "invalid device ordinal"},
    [cudaErrorECCUncorrectable] = {"cudaErrorECCUncorrectable",
                                   "uncorrectable ECC error encountered"},
    [cudaErrorInvalidResourceHandle] = {"cudaErrorInvalidResourceHandle",
                                        "invalid resource handle"},
    [cudaErrorNotReady] = {"cudaErrorNotReady", "device not ready"},
    [cudaErrorIllegalAddress] = {"cudaErrorIllegalAddress",
                                 "an illegal memory access was encountered"},
    [cudaErrorLaunchFailure] = {"cudaErrorLaunchFailure", "unspecified launch failure"},
    [cudaErrorStreamCaptureUnsupported] = {"cudaErrorStreamCaptureUnsupported",
                                           "operation not permitted when stream is capturing"},
    [cudaErrorStreamCaptureInvalidated] = {"cudaErrorStreamCaptureInvalidated",
                                           "operation failed due to a previous error during "
                                           "capture"},
    [cudaErrorStreamCaptureUnjoined] = {"cudaErrorStreamCaptureUnjoined",
                                        "capturing stream has unjoined work"},
    [cudaErrorStreamCaptureIsolation] = {"cudaErrorStreamCaptureIsolation",
                                         "dependency created on uncaptured work in another stream"},
    [cudaErrorNotSupported] = {"cudaErrorNotSupported", "operation not supported"},
    [cudaErrorUnknown] = {"cudaErrorUnknown", "unknown error"},
};

static const char *text_of(cudaError_t error, size_t column) {
    size_t i = (size_t)error;
    if (i >= sizeof(NAMES) / sizeof(NAMES[0]) || NAMES[i][column] == NULL) {
        return column == 0 ? "cudaErrorOther" : "another error";
    }
    return NAMES[i][column];
}

const char *cudaGetErrorName(cudaError_t error) {
    return text_of(error, 0);
}

const char *cudaGetErrorString(cudaError_t error) {
    return text_of(error, 1);
}

int tide_device_launches(const char *kernel) {
    if (state.launched != NULL) {
        state.launched(state.launched_ctx, kernel);
    }
    return (int)tide_fake_cudart_enter(kernel);
}

/* Devices. */

/* Without a driver, or with the stub in its place, the answer is 0. */
cudaError_t cudaDriverGetVersion(int *driverVersion) {
    cudaError_t result = tide_fake_enter("cudaDriverGetVersion");
    if (driver_error() != cudaSuccess) {
        const bool has_one =
            state.driver != TIDE_FAKE_DRIVER_NONE && state.driver != TIDE_FAKE_DRIVER_STUB;
        *driverVersion = has_one ? state.driver_version : 0;
        result = cudaSuccess;
    } else if (result == cudaSuccess) {
        *driverVersion = state.driver_version;
    }
    return tide_fake_leave(result);
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion) {
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    cudaError_t result = tide_fake_enter("cudaGetDeviceCount");
    if (result == cudaSuccess) {
        *count = state.n_devices;
    }
    return tide_fake_leave(result);
}

static cudaError_t check_device(int device) {
    return device >= 0 && device < state.n_devices && device < TIDE_FAKE_MAX_DEVICES
               ? cudaSuccess
               : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDevice(int *device) {
    cudaError_t result = tide_fake_enter("cudaGetDevice");
    if (result == cudaSuccess) {
        *device = current_device;
    }
    return tide_fake_leave(result);
}

cudaError_t cudaSetDevice(int device) {
    cudaError_t result = tide_fake_enter("cudaSetDevice");
    if (result == cudaSuccess) {
        result = check_device(device);
    }
    if (result == cudaSuccess) {
        current_device = device;
    }
    return tide_fake_leave(result);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device) {
    cudaError_t result = tide_fake_enter("cudaGetDeviceProperties");
    if (result == cudaSuccess) {
        result = check_device(device);
    }
    if (result == cudaSuccess) {
        memset(prop, 0, sizeof(*prop));
        (void)snprintf(prop->name, sizeof(prop->name), "Fake GPU %d", device);
        prop->totalGlobalMem = state.capacity_bytes;
    }
    return tide_fake_leave(result);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device) {
    cudaError_t result = tide_fake_enter("cudaDeviceGetAttribute");
    if (result == cudaSuccess) {
        result = check_device(device);
    }
    if (result == cudaSuccess) {
        switch (attr) {
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = 48 << 10;
            break;
        case cudaDevAttrClockRate:
            *value = 1980000;
            break;
        case cudaDevAttrMultiProcessorCount:
            *value = 132;
            break;
        case cudaDevAttrMemoryClockRate:
            *value = 2619000;
            break;
        case cudaDevAttrGlobalMemoryBusWidth:
            *value = 5120;
            break;
        case cudaDevAttrL2CacheSize:
            *value = 50 << 20;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = state.compute_capability / 10;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = state.compute_capability % 10;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = 227 << 10;
            break;
        }
    }
    return tide_fake_leave(result);
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device) {
    cudaError_t result = tide_fake_enter("cudaDeviceGetPCIBusId");
    if (result == cudaSuccess) {
        result = check_device(device);
    }
    if (result == cudaSuccess) {
        (void)snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)device);
    }
    return tide_fake_leave(result);
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value) {
    (void)func;
    (void)attr;
    cudaError_t result = tide_fake_enter("cudaFuncSetAttribute");
    if (result == cudaSuccess && (value < 0 || value > 227 << 10)) {
        result = cudaErrorInvalidValue;
    }
    return tide_fake_leave(result);
}

cudaError_t cudaDeviceSynchronize(void) {
    tide_fake_queue_finish(NULL, true);
    cudaError_t result = tide_fake_enter("cudaDeviceSynchronize");
    if (result == cudaSuccess) {
        result = tide_fake_graph_forbid(NULL, true);
    }
    if (result == cudaSuccess) {
        tide_fake_reach(NULL, true);
    }
    return tide_fake_leave(result);
}

/* The profiler, which does nothing. */

cudaError_t cudaProfilerStart(void) {
    return tide_fake_leave(tide_fake_enter("cudaProfilerStart"));
}

cudaError_t cudaProfilerStop(void) {
    return tide_fake_leave(tide_fake_enter("cudaProfilerStop"));
}

/* Memory. */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    cudaError_t result = tide_fake_enter("cudaMemGetInfo");
    if (result == cudaSuccess) {
        *free_bytes = tide_fake_room(current_device);
        *total_bytes = state.capacity_bytes;
    }
    return tide_fake_leave(result);
}

static cudaError_t take(void **devPtr, size_t n_bytes) {
    if (devPtr == NULL) {
        return cudaErrorInvalidValue;
    }
    if (n_bytes == 0) {
        *devPtr = NULL;
        return cudaSuccess;
    }
    size_t room = tide_fake_room(current_device);
    if (n_bytes > room) {
        return cudaErrorMemoryAllocation;
    }
    size_t n_taken = (n_bytes + TIDE_FAKE_GRANULE - 1) / TIDE_FAKE_GRANULE * TIDE_FAKE_GRANULE;
    void *address =
        n_taken > room ? NULL : tide_fake_memory_take(n_taken, state.hole_bytes, current_device);
    if (address == NULL) {
        return cudaErrorMemoryAllocation;
    }
    tide_fake_count_bytes(current_device, n_taken, 0);
    state.n_segments++;
    *devPtr = address;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **devPtr, size_t size) {
    cudaError_t result = tide_fake_enter("cudaMalloc");
    return tide_fake_leave(result == cudaSuccess ? take(devPtr, size) : result);
}

static cudaError_t give_back(void *devPtr) {
    int device = 0;
    if (devPtr == NULL) {
        return cudaSuccess;
    }
    size_t n_bytes = tide_fake_memory_find(devPtr, &device);
    if (n_bytes == 0) {
        return tide_fake_mistake(cudaErrorInvalidValue, "cudaFree(%p): not a live segment", devPtr);
    }
    tide_fake_reach(NULL, true); /* it waits for the device */
    tide_fake_memory_give_back(devPtr);
    tide_fake_count_bytes(device, 0, n_bytes);
    state.n_segments--;
    return cudaSuccess;
}

cudaError_t cudaFree(void *devPtr) {
    tide_fake_queue_finish(NULL, true);
    cudaError_t result = tide_fake_enter("cudaFree");
    return tide_fake_leave(result == cudaSuccess ? give_back(devPtr) : result);
}
