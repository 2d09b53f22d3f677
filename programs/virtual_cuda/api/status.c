/* Status codes of the runtime and the driver: their names, their texts, the thread's last
 * status. */
#include "programs/virtual_cuda/api/status.h"

#include <stddef.h>

#include "programs/virtual_cuda/api/export.h"

/* One status, with its names in the runtime and the driver. */
typedef struct status_row {
    int status;
    const char *runtime_name, *driver_name;
    const char *text;
} status_row;

static const status_row STATUSES[] = {
    {TIDE_VC_OK, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {TIDE_VC_INVALID_VALUE, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE",
     "invalid argument"},
    {TIDE_VC_MEMORY, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {TIDE_VC_INITIALIZATION, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED",
     "initialization error"},
    {TIDE_VC_INVALID_SYMBOL, "cudaErrorInvalidSymbol", "CUDA_ERROR_UNKNOWN",
     "invalid device symbol"},
    {TIDE_VC_NO_DEVICE, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE",
     "no CUDA-capable device is detected"},
    {TIDE_VC_INVALID_CONTEXT, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
     "invalid device context"},
    {TIDE_VC_INVALID_DEVICE_FUNCTION, "cudaErrorInvalidDeviceFunction", "CUDA_ERROR_UNKNOWN",
     "invalid device function"},
    {TIDE_VC_INVALID_DEVICE, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
     "invalid device ordinal"},
    {TIDE_VC_NO_KERNEL_IMAGE, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {TIDE_VC_OPERATING_SYSTEM, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM",
     "OS call failed or operation not supported on this OS"},
    {TIDE_VC_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
     "invalid resource handle"},
    {TIDE_VC_ILLEGAL_STATE, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {TIDE_VC_NOT_FOUND, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND",
     "named symbol not found"},
    {TIDE_VC_NOT_READY, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
    {TIDE_VC_PEER_ALREADY, "cudaErrorPeerAccessAlreadyEnabled",
     "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {TIDE_VC_HOST_ALREADY, "cudaErrorHostMemoryAlreadyRegistered",
     "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {TIDE_VC_HOST_NOT, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {TIDE_VC_NOT_SUPPORTED, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED",
     "operation not supported"},
    {TIDE_VC_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
     "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {TIDE_VC_CAPTURED_EVENT, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {TIDE_VC_UPDATE, "cudaErrorGraphExecUpdateFailure", "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints "
     "specific to instantiated graph update"},
};

static _Thread_local int last_status;

int tide_vc_fail(int status) {
    if (status != TIDE_VC_OK) {
        last_status = status;
    }
    return status;
}

void tide_vc_set_last_status(int status) {
    last_status = status;
}

static const status_row *find(int status) {
    for (size_t i = 0; i < sizeof(STATUSES) / sizeof(STATUSES[0]); i++) {
        if (STATUSES[i].status == status) {
            return &STATUSES[i];
        }
    }
    return NULL;
}

TIDE_VC_EXPORT int cudaGetLastError(void) {
    int status = last_status;
    last_status = TIDE_VC_OK;
    return status;
}

TIDE_VC_EXPORT int cudaPeekAtLastError(void) {
    return last_status;
}

TIDE_VC_EXPORT const char *cudaGetErrorName(int status) {
    const status_row *row = find(status);
    return row != NULL ? row->runtime_name : "unrecognized error code";
}

TIDE_VC_EXPORT const char *cudaGetErrorString(int status) {
    const status_row *row = find(status);
    return row != NULL ? row->text : "unrecognized error code";
}

TIDE_VC_EXPORT int cuGetErrorName(int status, const char **ret_name) {
    const status_row *row = find(status);
    *ret_name = row != NULL ? row->driver_name : NULL;
    return row != NULL ? TIDE_VC_OK : TIDE_VC_INVALID_VALUE;
}

TIDE_VC_EXPORT int cuGetErrorString(int status, const char **ret_text) {
    const status_row *row = find(status);
    *ret_text = row != NULL ? row->text : NULL;
    return row != NULL ? TIDE_VC_OK : TIDE_VC_INVALID_VALUE;
}
