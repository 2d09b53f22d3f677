/* Copies and fills. Device memory has no contents: what comes from it to the host is zeros. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "virtual_cuda/export.h"
#include "virtual_cuda/known.h"
#include "virtual_cuda/status.h"

void tide_vc_zero_output(void *output, size_t n_bytes) {
    if (output != NULL && !tide_vc_is_device(output)) {
        memset(output, 0, n_bytes);
    }
}

/* Nothing is known of any device memory yet, so that there is nothing to forget. */
void tide_vc_touch(const void *address) {
    (void)address;
}

static int copy(void *to, const void *from, size_t n_bytes) {
    if (tide_vc_is_device(to)) {
        return TIDE_VC_OK;
    }
    if (tide_vc_is_device(from)) {
        memset(to, 0, n_bytes);
    } else {
        memmove(to, from, n_bytes);
    }
    return TIDE_VC_OK;
}

static int copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height) {
    for (size_t i = 0; i < height; i++) {
        (void)copy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    }
    return TIDE_VC_OK;
}

static int fill(void *to, int value, size_t n_bytes) {
    if (!tide_vc_is_device(to)) {
        memset(to, value, n_bytes);
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemcpy(void *to, const void *from, size_t n_bytes, int kind) {
    (void)kind;
    return copy(to, from, n_bytes);
}

TIDE_VC_EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, int kind,
                                   void *stream) {
    (void)kind;
    (void)stream;
    return copy(to, from, n_bytes);
}

TIDE_VC_EXPORT int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                                  size_t n_bytes) {
    (void)to_device;
    (void)from_device;
    return copy(to, from, n_bytes);
}

TIDE_VC_EXPORT int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                       size_t n_bytes, void *stream) {
    (void)stream;
    return cudaMemcpyPeer(to, to_device, from, from_device, n_bytes);
}

TIDE_VC_EXPORT int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                size_t width, size_t height, int kind) {
    (void)kind;
    return copy_rows(to, to_pitch, from, from_pitch, width, height);
}

TIDE_VC_EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                     size_t width, size_t height, int kind, void *stream) {
    (void)kind;
    (void)stream;
    return copy_rows(to, to_pitch, from, from_pitch, width, height);
}

/* A variable of the device's program is not stored anywhere. */
TIDE_VC_EXPORT int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t n_bytes,
                                      size_t offset, int kind) {
    (void)symbol;
    (void)from;
    (void)n_bytes;
    (void)offset;
    (void)kind;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t n_bytes, size_t offset,
                                        int kind) {
    (void)symbol;
    (void)offset;
    (void)kind;
    tide_vc_zero_output(to, n_bytes);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemset(void *to, int value, size_t n_bytes) {
    return fill(to, value, n_bytes);
}

TIDE_VC_EXPORT int cudaMemsetAsync(void *to, int value, size_t n_bytes, void *stream) {
    (void)stream;
    return fill(to, value, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpy(uint64_t to, uint64_t from, size_t n_bytes) {
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t n_bytes, void *stream) {
    (void)stream;
    return cuMemcpy(to, from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n_bytes) {
    return copy((void *)(uintptr_t)to, from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n_bytes) {
    return copy(to, (const void *)(uintptr_t)from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n_bytes,
                                        void *stream) {
    (void)stream;
    return cuMemcpyHtoD_v2(to, from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n_bytes, void *stream) {
    (void)stream;
    return cuMemcpyDtoH_v2(to, from, n_bytes);
}

TIDE_VC_EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream) {
    (void)stream;
    return fill((void *)(uintptr_t)to, value, n);
}

TIDE_VC_EXPORT int cuMemsetD32Async(uint64_t to, unsigned value, size_t n, void *stream) {
    (void)stream;
    unsigned *words = (unsigned *)(uintptr_t)to;
    for (size_t i = 0; i < n && !tide_vc_is_device(words); i++) {
        words[i] = value;
    }
    return TIDE_VC_OK;
}
