/* entry_runtime.c - stand-ins for functions of the CUDA runtime that allocate or free memory. If
 * the runtime is linked into a program or library, its calls are seen at the driver
 * (entry_driver.c).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/live/entries/entry_internal.h"
#include "programs/live/questions.h"

/* Structures passed by value, as in NVIDIA's headers. */
typedef struct extent {
    size_t width, height, depth; /* width in bytes, or in elements of an array */
} extent;
typedef struct pitched {
    void *address;
    size_t pitch_bytes, x_bytes, y_rows;
} pitched;
typedef struct channels {
    int n_bits[4]; /* of an element's parts */
    int kind;
} channels;

static uint64_t element_bytes(const channels *of) {
    enum { BITS = 8 };
    int n_bits = of->n_bits[0] + of->n_bits[1] + of->n_bits[2] + of->n_bits[3];
    return (uint64_t)n_bits / BITS;
}

static uint64_t at_least_1(size_t n) {
    return n > 0 ? n : 1;
}

/* Whether a call accepted its arguments: it allocated memory, or memory ran out. */
static bool has_bytes(int status) {
    enum { SUCCESS = 0, OUT_OF_MEMORY = 2 };
    return status == SUCCESS || status == OUT_OF_MEMORY;
}

static uint64_t number_of(const void *address) {
    return (uint64_t)(uintptr_t)address;
}

/* ---- device memory ---- */

TIDE_LIVE_STAND_IN(cudaMalloc, void **ret_address, size_t n_bytes) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMalloc)(ret_address, n_bytes);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaMallocPitch, void **ret_address, size_t *ret_pitch, size_t width,
                   size_t height) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocPitch)(ret_address, ret_pitch, width, height);
    return tide_live_took_device(&call, status, ret_address,
                                 (status == 0 ? *ret_pitch : width) * height);
}

TIDE_LIVE_STAND_IN(cudaMalloc3D, pitched *ret_pitched, extent bytes) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMalloc3D)(ret_pitched, bytes);
    uint64_t row_bytes = status == 0 ? ret_pitched->pitch_bytes : bytes.width;
    uint64_t n_bytes = row_bytes * bytes.height * bytes.depth;
    return tide_live_took_device(&call, status, &ret_pitched->address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaMallocManaged, void **ret_address, size_t n_bytes, unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocManaged)(ret_address, n_bytes, flags);
    return tide_live_took_managed(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaMallocAsync, void **ret_address, size_t n_bytes, void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocAsync)(ret_address, n_bytes, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaMallocAsync_ptsz, void **ret_address, size_t n_bytes, void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocAsync_ptsz)(ret_address, n_bytes, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaMallocFromPoolAsync, void **ret_address, size_t n_bytes, void *pool,
                   void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocFromPoolAsync)(ret_address, n_bytes, pool, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaMallocFromPoolAsync_ptsz, void **ret_address, size_t n_bytes, void *pool,
                   void *stream) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocFromPoolAsync_ptsz)(ret_address, n_bytes, pool, stream);
    return tide_live_took_device(&call, status, ret_address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaFree, void *address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, number_of(address));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cudaFree)(address));
}

TIDE_LIVE_STAND_IN(cudaFreeAsync, void *address, void *stream) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, number_of(address));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cudaFreeAsync)(address, stream));
}

TIDE_LIVE_STAND_IN(cudaFreeAsync_ptsz, void *address, void *stream) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, number_of(address));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cudaFreeAsync_ptsz)(address, stream));
}

/* ---- arrays ---- */

TIDE_LIVE_STAND_IN(cudaMallocArray, void **ret_array, const channels *element, size_t width,
                   size_t height, unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocArray)(ret_array, element, width, height, flags);
    return tide_live_took_in(&call, status, TIDE_LOG_CALL_DEVICE_ALLOC, TIDE_LIVE_ARRAYS, ret_array,
                             has_bytes(status) ? element_bytes(element) * width * at_least_1(height)
                                               : 0);
}

TIDE_LIVE_STAND_IN(cudaMalloc3DArray, void **ret_array, const channels *element, extent elements,
                   unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMalloc3DArray)(ret_array, element, elements, flags);
    uint64_t n = elements.width * at_least_1(elements.height) * at_least_1(elements.depth);
    return tide_live_took_in(&call, status, TIDE_LOG_CALL_DEVICE_ALLOC, TIDE_LIVE_ARRAYS, ret_array,
                             has_bytes(status) ? element_bytes(element) * n : 0);
}

TIDE_LIVE_STAND_IN(cudaFreeArray, void *array) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ARRAYS, number_of(array));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cudaFreeArray)(array));
}

/* ---- pinned host memory ---- */

TIDE_LIVE_STAND_IN(cudaMallocHost, void **ret_address, size_t n_bytes) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaMallocHost)(ret_address, n_bytes);
    return tide_live_took_host(&call, status, status == 0 ? *ret_address : NULL, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaHostAlloc, void **ret_address, size_t n_bytes, unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaHostAlloc)(ret_address, n_bytes, flags);
    return tide_live_took_host(&call, status, status == 0 ? *ret_address : NULL, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaHostRegister, void *address, size_t n_bytes, unsigned flags) {
    TIDE_LIVE_BEGIN(call);
    int status = TIDE_LIVE_NEXT(cudaHostRegister)(address, n_bytes, flags);
    return tide_live_took_host(&call, status, address, n_bytes);
}

TIDE_LIVE_STAND_IN(cudaFreeHost, void *address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, number_of(address));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cudaFreeHost)(address));
}

TIDE_LIVE_STAND_IN(cudaHostUnregister, void *address) {
    TIDE_LIVE_BEGIN(call);
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, number_of(address));
    return tide_live_call_gave(&call, TIDE_LIVE_NEXT(cudaHostUnregister)(address));
}

/* ---- the end of a device's memory ---- */

/* The runtime's own device comes first: cudaSetDevice of CUDA 11 does not change the driver's. */
static int current_device(const void *caller) {
    int (*ask_runtime)(int *) = NULL;
    const tide_live_questions *ask = tide_live_questions_to_driver();
    tide_live_any *found = tide_live_real_named("cudaGetDevice", caller);
    int device = 0;
    memcpy(&ask_runtime, &found, sizeof(ask_runtime));
    bool is_known = ask_runtime != NULL && ask_runtime(&device) == 0;
    if (!is_known && (ask == NULL || ask->current_device == NULL || ask->current_device(&device))) {
        device = 0;
    }
    return device;
}

/* The device is asked for before the reset, which ends the context of the thread. */
static int reset(tide_live_call *call, int device, int status) {
    if (status == 0 && tide_live_is_open()) {
        tide_live_drop_device(call, device);
    }
    tide_live_call_end(call);
    return status;
}

TIDE_LIVE_STAND_IN(cudaDeviceReset, void) {
    TIDE_LIVE_BEGIN(call);
    int device = current_device(call.caller);
    return reset(&call, device, TIDE_LIVE_NEXT(cudaDeviceReset)());
}

TIDE_LIVE_STAND_IN(cudaThreadExit, void) {
    TIDE_LIVE_BEGIN(call);
    int device = current_device(call.caller);
    return reset(&call, device, TIDE_LIVE_NEXT(cudaThreadExit)());
}
