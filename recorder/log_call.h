/* log_call.h - what rows about calls of the CUDA runtime and driver say. Their action is
 * this number more than TIDE_LOG_DRIVER_FIRST (log_format_friend.h).
 */
#ifndef TIDE_RECORDER_LOG_CALL_H
#define TIDE_RECORDER_LOG_CALL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Even numbers take memory, odd ones give it back or take none. */
typedef enum tide_log_call {
    TIDE_LOG_CALL_DEVICE_ALLOC = 0,
    TIDE_LOG_CALL_DEVICE_FREE,
    TIDE_LOG_CALL_HOST_ALLOC, /* pinned */
    TIDE_LOG_CALL_HOST_FREE,
    TIDE_LOG_CALL_PHYSICAL_ALLOC, /* cuMemCreate: memory without an address */
    TIDE_LOG_CALL_PHYSICAL_FREE,
    TIDE_LOG_CALL_REFUSED = 7 /* there was no memory; block_bytes: what the device had left */
} tide_log_call;

#ifdef __cplusplus
}
#endif

#endif
