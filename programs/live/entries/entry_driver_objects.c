/* entry_driver_objects.c - stand-ins for functions of the CUDA driver that allocate or free pinned
 * host memory, and for those of arrays, memory of other processes, contexts and code.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/live/account.h"
#include "programs/live/entries/entry_internal.h"
#include "programs/live/questions.h"

enum { SUCCESS = 0, OUT_OF_MEMORY = 2 };

static uint64_t number_of(const void *address) {
    return (uint64_t)(uintptr_t)address;
}

/* ---- pinned host memory ---- */

TIDE_LIVE_STAND_IN(cuMemHostAlloc, void **ret_address, size_t n_bytes, unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemHostAlloc)(ret_address, n_bytes, flags);
    return tide_live_took_host(&call, status, status == SUCCESS ? *ret_address : NULL, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemAllocHost_v2, void **ret_address, size_t n_bytes) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemAllocHost_v2)(ret_address, n_bytes);
    return tide_live_took_host(&call, status, status == SUCCESS ? *ret_address : NULL, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemHostRegister_v2, void *address, size_t n_bytes, unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuMemHostRegister_v2)(address, n_bytes, flags);
    return tide_live_took_host(&call, status, address, n_bytes);
}

TIDE_LIVE_STAND_IN(cuMemFreeHost, void *address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, number_of(address));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuMemFreeHost)(address));
}

TIDE_LIVE_STAND_IN(cuMemHostUnregister, void *address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, number_of(address));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuMemHostUnregister)(address));
}

/* ---- arrays ---- */

/* Bytes of one part of an element, by CUarray_format. */
static uint64_t part_bytes(int format) {
    switch (format) {
    case 0x01: /* unsigned and signed, 8 bits */
    case 0x08:
        return 1;
    case 0x02: /* 16 bits, half */
    case 0x09:
    case 0x10:
        return 2;
    default: /* 32 bits, float; packed picture formats are assumed to have as much */
        return 4;
    }
}

static uint64_t at_least_1(size_t n) {
    return n > 0 ? n : 1;
}

/* CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR. Sizes are in elements. */
typedef struct flat_array {
    size_t width, height;
    int format;
    unsigned n_parts; /* of an element */
} flat_array;
typedef struct deep_array {
    size_t width, height, depth;
    int format;
    unsigned n_parts;
    unsigned flags;
} deep_array;

TIDE_LIVE_STAND_IN(cuArrayCreate_v2, void **ret_array, const flat_array *of) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuArrayCreate_v2)(ret_array, of);
    uint64_t n_bytes =
        status == SUCCESS || status == OUT_OF_MEMORY
            ? of->width * at_least_1(of->height) * of->n_parts * part_bytes(of->format)
            : 0;
    return tide_live_took_in(&call, status, TIDE_LOG_CALL_DEVICE_ALLOC, TIDE_LIVE_ARRAYS, ret_array,
                             n_bytes);
}

TIDE_LIVE_STAND_IN(cuArray3DCreate_v2, void **ret_array, const deep_array *of) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuArray3DCreate_v2)(ret_array, of);
    uint64_t n_bytes = status == SUCCESS || status == OUT_OF_MEMORY
                           ? of->width * at_least_1(of->height) * at_least_1(of->depth) *
                                 of->n_parts * part_bytes(of->format)
                           : 0;
    return tide_live_took_in(&call, status, TIDE_LOG_CALL_DEVICE_ALLOC, TIDE_LIVE_ARRAYS, ret_array,
                             n_bytes);
}

TIDE_LIVE_STAND_IN(cuArrayDestroy, void *array) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ARRAYS, number_of(array));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuArrayDestroy)(array));
}

/* ---- memory of other processes ---- */

typedef struct ipc_handle {
    char bytes[64];
} ipc_handle;

TIDE_LIVE_STAND_IN(cuIpcOpenMemHandle_v2, uint64_t *ret_address, ipc_handle handle,
                   unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuIpcOpenMemHandle_v2)(ret_address, handle, flags);
    return tide_live_took_in(&call, status, TIDE_LOG_CALL_DEVICE_ALLOC, TIDE_LIVE_IPC, ret_address,
                             0);
}

TIDE_LIVE_STAND_IN(cuIpcCloseMemHandle, uint64_t address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_IPC, address);
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuIpcCloseMemHandle)(address));
}

/* ---- contexts ---- */

TIDE_LIVE_STAND_IN(cuDevicePrimaryCtxRetain, void **ret_context, int device) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuDevicePrimaryCtxRetain)(ret_context, device);
    if (status == SUCCESS) {
        tide_live_account_begin(device, *ret_context);
    }
    tide_live_call_end(&call);
    return status;
}

/* The memory of a device ends with its context. */
static int ended(tide_live_call *call, int status, int device, bool has_ended) {
    if (status == SUCCESS && has_ended && tide_live_is_open()) {
        tide_live_drop_device(call, device);
    }
    tide_live_call_end(call);
    return status;
}

static bool is_inactive(int device) {
    unsigned flags = 0;
    int is_active = 1;
    const tide_live_questions *ask = tide_live_questions_to_driver();
    return ask != NULL && ask->context_state != NULL &&
           ask->context_state(device, &flags, &is_active) == SUCCESS && is_active == 0;
}

/* Only the last release ends the context. */
TIDE_LIVE_STAND_IN(cuDevicePrimaryCtxRelease_v2, int device) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuDevicePrimaryCtxRelease_v2)(device);
    return ended(&call, status, device, status == SUCCESS && is_inactive(device));
}

/* A reset frees the memory also if the context stays, as on a virtual card. */
TIDE_LIVE_STAND_IN(cuDevicePrimaryCtxReset_v2, int device) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cuDevicePrimaryCtxReset_v2)(device);
    return ended(&call, status, device, true);
}

/* ---- code ---- */

/* CUDA does not report the memory that loaded code takes, so we measure it. By default CUDA loads
 * code at its first launch; that part stays unexplained. */
TIDE_LIVE_STAND_IN(cuLibraryLoadData, void **ret_library, const void *code, int *compiler_names,
                   void **compiler_values, unsigned n_compiler, int *names, void **values,
                   unsigned n) {
    TIDE_LIVE_BEGIN(call);
    uint64_t before = call.counts ? tide_live_account_rest() : 0;
    int status = TIDE_LIVE_NEXT(cuLibraryLoadData)(ret_library, code, compiler_names,
                                                   compiler_values, n_compiler, names, values, n);
    uint64_t after = status == SUCCESS && before > 0 ? tide_live_account_rest() : 0;
    if (after <= before) {
        tide_live_call_end(&call);
        return status;
    }
    return tide_live_took_in(&call, status, TIDE_LOG_CALL_DEVICE_ALLOC, TIDE_LIVE_LIBRARIES,
                             ret_library, after - before);
}

TIDE_LIVE_STAND_IN(cuLibraryUnload, void *library) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_LIBRARIES, number_of(library));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cuLibraryUnload)(library));
}
