/* Memory and events that processes share: not simulated. */
#include <stddef.h>

#include "virtual_cuda/export.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/status.h"

static int refuse(const char *call) {
    tide_vc_refused(call, "processes do not share memory or events of a virtual card");
    return tide_vc_fail(TIDE_VC_NOT_SUPPORTED);
}

TIDE_VC_EXPORT int cudaIpcGetMemHandle(void *ret_handle, void *address) {
    (void)ret_handle;
    (void)address;
    return refuse("cudaIpcGetMemHandle");
}

/* The handle is 64 bytes by value, which lie on the caller's stack. */
TIDE_VC_EXPORT int cudaIpcOpenMemHandle(void **ret_address) {
    *ret_address = NULL;
    return refuse("cudaIpcOpenMemHandle");
}

TIDE_VC_EXPORT int cudaIpcCloseMemHandle(void *address) {
    (void)address;
    return refuse("cudaIpcCloseMemHandle");
}

TIDE_VC_EXPORT int cudaIpcGetEventHandle(void *ret_handle, void *event) {
    (void)ret_handle;
    (void)event;
    return refuse("cudaIpcGetEventHandle");
}

TIDE_VC_EXPORT int cudaIpcOpenEventHandle(void **ret_event) {
    *ret_event = NULL;
    return refuse("cudaIpcOpenEventHandle");
}
