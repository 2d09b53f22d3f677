/* entry_internal.h - how the library stands in for a function of CUDA.
 *
 * Stand-ins are declared like the functions in NVIDIA's headers, with plain types instead of
 * NVIDIA's: streams, pools, arrays and contexts are void *, addresses and handles uint64_t, results
 * and devices int. Those headers are not included, because one object serves CUDA 11 to 13.
 */
#ifndef TIDE_LIVE_ENTRY_INTERNAL_H
#define TIDE_LIVE_ENTRY_INTERNAL_H

#include <string.h>

#include "programs/live/driver.h"
#include "programs/live/real.h"

/* Begins the definition of a stand-in, with its parameters, and makes its hook. The section holds
 * pointers, because a compiler may pad larger objects. */
#define TIDE_LIVE_STAND_IN(name, ...)                                                              \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                  \
    static tide_live_hook hook_##name = {#name, (tide_live_any *)(name), NULL};                    \
    static tide_live_hook *pointer_##name __attribute__((section("tide_live_hooks"), used)) =      \
        &hook_##name;                                                                              \
    int name(__VA_ARGS__)

/* The first line in a stand-in. */
#define TIDE_LIVE_BEGIN(call)                                                                      \
    tide_live_call call;                                                                           \
    tide_live_call_begin(&(call), __func__, __builtin_return_address(0))

/* The real function that the stand-in of this name replaces, ready to call. */
#define TIDE_LIVE_NEXT(name)                                                                       \
    ((__typeof__(&(name)))tide_live_real(&hook_##name, __builtin_return_address(0)))

/* Ends a call that writes an address or handle to *ret_address, a pointer or a uint64_t. */
static inline int tide_live_took_in(const tide_live_call *call, int status, tide_log_call action,
                                    tide_live_space space, const void *ret_address,
                                    uint64_t n_bytes) {
    tide_live_taken taken = {
        .action = action, .space = space, .n_bytes = n_bytes, .device = TIDE_LIVE_CURRENT};
    if (status == 0) {
        memcpy(&taken.address, ret_address, sizeof(taken.address));
    }
    return tide_live_call_took(call, status, &taken);
}

/* The same for device memory with an address. */
static inline int tide_live_took_device(const tide_live_call *call, int status,
                                        const void *ret_address, uint64_t n_bytes) {
    return tide_live_took_in(call, status, TIDE_LOG_CALL_DEVICE_ALLOC, TIDE_LIVE_ADDRESSES,
                             ret_address, n_bytes);
}

/* The same for managed memory. */
static inline int tide_live_took_managed(const tide_live_call *call, int status,
                                         const void *ret_address, uint64_t n_bytes) {
    tide_live_taken taken = {.action = TIDE_LOG_CALL_DEVICE_ALLOC,
                             .n_bytes = n_bytes,
                             .device = TIDE_LIVE_CURRENT,
                             .is_managed = true};
    if (status == 0) {
        memcpy(&taken.address, ret_address, sizeof(taken.address));
    }
    return tide_live_call_took(call, status, &taken);
}

/* The same for pinned host memory, whose address is known. */
static inline int tide_live_took_host(const tide_live_call *call, int status, const void *address,
                                      uint64_t n_bytes) {
    return tide_live_took_in(call, status, TIDE_LOG_CALL_HOST_ALLOC, TIDE_LIVE_ADDRESSES, &address,
                             n_bytes);
}

#endif
