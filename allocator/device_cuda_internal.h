/* device_cuda_internal.h - what the cuda device shares with its operators, and how the memory that
 * a context takes is measured.
 */
#ifndef TIDE_ALLOCATOR_DEVICE_CUDA_INTERNAL_H
#define TIDE_ALLOCATOR_DEVICE_CUDA_INTERNAL_H

#include "allocator/device_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a CUDA runtime call or a launch gave (a cudaError_t), as a status; `call` is for people and
 * static: "cudaMalloc", "swiglu_forward". Clears the runtime's last error. One that ends the
 * context makes the device lost: from then on every call of it answers TIDE_DEVICE_LOST and names
 * this cause. `device` may be one that only passes calls on to a cuda device. */
TIDE_NODISCARD tide_status tide_device_cuda_answer(tide_device *device, const char *call,
                                                   int result, tide_error *error);

/* Bytes in use on the GPU with that PCI bus id, by all processes, as the driver's management
 * library (libnvidia-ml.so.1, opened for this call) sees them; -1 where it cannot say. */
int64_t tide_device_cuda_used_bytes(const char *pci_bus_id);

#ifdef __cplusplus
}
#endif

#endif
