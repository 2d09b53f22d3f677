/* Copies and fills. Of what lies on the card, known.h has what the host could know. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "virtual_cuda/export.h"
#include "virtual_cuda/known.h"
#include "virtual_cuda/status.h"
#include "virtual_cuda/streams.h"
#include "virtual_cuda/unknown.h"

void tide_vc_zero_output(void *output, size_t n_bytes) {
    if (output != NULL && tide_vc_is_device(output)) {
        tide_vc_known_forget((uint64_t)(uintptr_t)output, n_bytes);
    } else if (output != NULL) {
        memset(output, 0, n_bytes);
    }
}

/* Work that is captured is done when the graph is launched: until then nothing is known of what it
 * will have written. */
static bool is_captured(void *stream) {
    return tide_vc_stream_of(stream)->capture != NULL;
}

static int copy(void *to, const void *from, size_t n_bytes, void *stream) {
    bool from_device = tide_vc_is_device(from);
    if (tide_vc_is_device(to)) {
        if (is_captured(stream)) {
            tide_vc_known_forget((uint64_t)(uintptr_t)to, n_bytes);
        } else if (from_device) {
            tide_vc_known_copy(to, from, n_bytes);
        } else {
            tide_vc_known_write(to, from, n_bytes);
        }
    } else if (from_device) {
        if (!tide_vc_known_read(to, from, n_bytes)) {
            tide_vc_unknown_read(to, from, n_bytes);
        }
    } else {
        memmove(to, from, n_bytes);
    }
    return TIDE_VC_OK;
}

/* A copy without a stream waits for the null stream, which pools do not count as waiting. */
static void wait_for_null(void) {
    if (tide_vc_is_late()) {
        tide_vc_wait_timeline(tide_vc_stream_timeline(NULL));
    }
}

static int copy_and_wait(void *to, const void *from, size_t n_bytes) {
    wait_for_null();
    return copy(to, from, n_bytes, NULL);
}

static int copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, void *stream) {
    for (size_t i = 0; i < height; i++) {
        (void)copy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width, stream);
    }
    return TIDE_VC_OK;
}

/* n values of n_pattern bytes. */
static int fill(void *to, const void *pattern, size_t n_pattern, size_t n, void *stream) {
    if (!tide_vc_is_device(to)) {
        for (size_t i = 0; i < n; i++) {
            memcpy((char *)to + i * n_pattern, pattern, n_pattern);
        }
    } else if (is_captured(stream)) {
        tide_vc_known_forget((uint64_t)(uintptr_t)to, n * n_pattern);
    } else {
        tide_vc_known_fill(to, pattern, n_pattern, n * n_pattern);
    }
    return TIDE_VC_OK;
}

static int fill_bytes(void *to, int value, size_t n_bytes, void *stream) {
    unsigned char byte = (unsigned char)value;
    return fill(to, &byte, 1, n_bytes, stream);
}

TIDE_VC_EXPORT int cudaMemcpy(void *to, const void *from, size_t n_bytes, int kind) {
    (void)kind;
    return copy_and_wait(to, from, n_bytes);
}

TIDE_VC_EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, int kind,
                                   void *stream) {
    (void)kind;
    return copy(to, from, n_bytes, stream);
}

TIDE_VC_EXPORT int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                                  size_t n_bytes) {
    (void)to_device;
    (void)from_device;
    return copy(to, from, n_bytes, NULL);
}

TIDE_VC_EXPORT int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                       size_t n_bytes, void *stream) {
    (void)to_device;
    (void)from_device;
    return copy(to, from, n_bytes, stream);
}

TIDE_VC_EXPORT int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                size_t width, size_t height, int kind) {
    (void)kind;
    wait_for_null();
    return copy_rows(to, to_pitch, from, from_pitch, width, height, NULL);
}

TIDE_VC_EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                     size_t width, size_t height, int kind, void *stream) {
    (void)kind;
    return copy_rows(to, to_pitch, from, from_pitch, width, height, stream);
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
    return fill_bytes(to, value, n_bytes, NULL);
}

TIDE_VC_EXPORT int cudaMemsetAsync(void *to, int value, size_t n_bytes, void *stream) {
    return fill_bytes(to, value, n_bytes, stream);
}

TIDE_VC_EXPORT int cuMemcpy(uint64_t to, uint64_t from, size_t n_bytes) {
    return copy_and_wait((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t n_bytes, void *stream) {
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n_bytes, stream);
}

TIDE_VC_EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n_bytes) {
    return copy_and_wait((void *)(uintptr_t)to, from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n_bytes) {
    return copy_and_wait(to, (const void *)(uintptr_t)from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n_bytes,
                                        void *stream) {
    return copy((void *)(uintptr_t)to, from, n_bytes, stream);
}

TIDE_VC_EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n_bytes, void *stream) {
    return copy(to, (const void *)(uintptr_t)from, n_bytes, stream);
}

TIDE_VC_EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream) {
    return fill((void *)(uintptr_t)to, &value, sizeof(value), n, stream);
}

TIDE_VC_EXPORT int cuMemsetD32Async(uint64_t to, unsigned value, size_t n, void *stream) {
    return fill((void *)(uintptr_t)to, &value, sizeof(value), n, stream);
}
