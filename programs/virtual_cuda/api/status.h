/* status.h - the runtime's status codes and the thread's last error.
 */
#ifndef TIDE_VIRTUAL_CUDA_STATUS_H
#define TIDE_VIRTUAL_CUDA_STATUS_H

/* Values of cudaError_t, which equal those of CUresult if both have the code. */
typedef enum tide_vc_status {
    TIDE_VC_OK = 0,
    TIDE_VC_INVALID_VALUE = 1,
    TIDE_VC_MEMORY = 2,
    TIDE_VC_INITIALIZATION = 3,
    TIDE_VC_INVALID_SYMBOL = 13,
    TIDE_VC_INVALID_DEVICE_FUNCTION = 98,
    TIDE_VC_NO_DEVICE = 100,
    TIDE_VC_INVALID_DEVICE = 101,
    TIDE_VC_INVALID_CONTEXT = 201,
    TIDE_VC_NO_KERNEL_IMAGE = 209,
    TIDE_VC_OPERATING_SYSTEM = 304, /* the host failed: host_failure.h */
    TIDE_VC_INVALID_HANDLE = 400,
    TIDE_VC_ILLEGAL_STATE = 401,
    TIDE_VC_NOT_FOUND = 500,
    TIDE_VC_NOT_READY = 600,
    TIDE_VC_PEER_ALREADY = 704,
    TIDE_VC_HOST_ALREADY = 712,
    TIDE_VC_HOST_NOT = 713,
    TIDE_VC_NOT_SUPPORTED = 801,
    TIDE_VC_CAPTURE_UNSUPPORTED = 900,
    TIDE_VC_CAPTURED_EVENT = 907,
    TIDE_VC_UPDATE = 910 /* an executable graph cannot be updated to another one */
} tide_vc_status;

/* Remembers a failure as the thread's last error, for cudaGetLastError. Returns `status`. */
int tide_vc_fail(int status);

/* The driver's functions leave the runtime's last error as it was (cudaPeekAtLastError). */
void tide_vc_set_last_status(int status);

#endif
