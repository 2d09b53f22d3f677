/* questions.h - the functions of CUDA's driver that the recording calls. Results are CUDA's: 0 is
 * success.
 */
#ifndef TIDE_LIVE_QUESTIONS_H
#define TIDE_LIVE_QUESTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Any of them may be NULL if the driver does not have the function. */
typedef struct tide_live_questions {
    int (*get_info)(size_t *ret_free, size_t *ret_total); /* cuMemGetInfo_v2 */
    int (*current_device)(int *ret_device);               /* cuCtxGetDevice */
    int (*exchange_capture_mode)(int *mode);              /* cuThreadExchangeStreamCaptureMode */
    int (*push)(void *context);                           /* cuCtxPushCurrent_v2 */
    int (*pop)(void **ret_context);                       /* cuCtxPopCurrent_v2 */
    int (*default_pool)(void **ret_pool, int device);     /* cuDeviceGetDefaultMemPool */
    int (*pool_attribute)(void *pool, int attribute, void *ret_value); /* cuMemPoolGetAttribute */
    int (*graph_attribute)(int device, int attribute,
                           void *ret_value); /* cuDeviceGetGraphMemAttribute */
    int (*context_state)(int device, unsigned *ret_flags,
                         int *ret_is_active); /* cuDevicePrimaryCtxGetState */
    uint64_t (*nccl_bytes)(int device);       /* tidemark_nccl_bytes, of a virtual card only */
} tide_live_questions;

/* NULL: the driver is not loaded yet. Thread-safe; valid for ever. */
const tide_live_questions *tide_live_questions_to_driver(void);

#endif
