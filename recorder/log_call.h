/* log_call.h - the kinds of rows about calls of the CUDA runtime and driver. Their action is
 * TIDE_LOG_DRIVER_FIRST plus this number (log_format_friend.h).
 */
#ifndef TIDE_RECORDER_LOG_CALL_H
#define TIDE_RECORDER_LOG_CALL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Even numbers allocate memory; odd ones free it or allocate none. */
typedef enum tide_log_call {
    TIDE_LOG_CALL_DEVICE_ALLOC = 0,
    TIDE_LOG_CALL_DEVICE_FREE,
    TIDE_LOG_CALL_HOST_ALLOC, /* pinned */
    TIDE_LOG_CALL_HOST_FREE,
    TIDE_LOG_CALL_PHYSICAL_ALLOC, /* cuMemCreate: memory without an address */
    TIDE_LOG_CALL_PHYSICAL_FREE,
    TIDE_LOG_CALL_REFUSED = 7 /* out of memory; block_bytes: the device's free bytes */
} tide_log_call;

#ifdef __cplusplus
}
#endif

#endif
