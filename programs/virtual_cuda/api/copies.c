/* Copies and fills. known.h has the bytes on the card that the host can know. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "programs/virtual_cuda/api/copies_internal.h"
#include "programs/virtual_cuda/card/blocks.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/card/pinned.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/order/streams.h"
#include "programs/virtual_cuda/values/reached.h"
#include "programs/virtual_cuda/values/unknown.h"

void tide_vc_zero_output(void *output, size_t n_bytes) {
    if (output != NULL && tide_vc_is_device(output)) {
        tide_vc_known_forget((uint64_t)(uintptr_t)output, n_bytes);
    } else if (output != NULL) {
        memset(output, 0, n_bytes);
    }
}

/* Captured work runs when the graph is launched: until then its output is unknown. */
static bool is_captured(void *stream) {
    return tide_vc_stream_of(stream)->capture != NULL;
}

static void forget_captured(const void *to, size_t n_bytes) {
    tide_vc_known_forget((uint64_t)(uintptr_t)to, n_bytes);
    tide_vc_reached((uint64_t)(uintptr_t)to);
}

static void move(void *to, const void *from, size_t n_bytes, void *stream) {
    bool from_device = tide_vc_is_device(from);
    if (tide_vc_is_device(to)) {
        if (is_captured(stream)) {
            forget_captured(to, n_bytes);
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
}

/* ---- the launch log ---- */

static int device_of(const void *address, int otherwise) {
    tide_vc_block block;
    return tide_vc_block_find((uint64_t)(uintptr_t)address, &block) ? block.device : otherwise;
}

static tide_run_copy copy_of(const void *to, const void *from) {
    bool to_device = tide_vc_is_device(to);
    if (!tide_vc_is_device(from)) {
        return to_device ? TIDE_RUN_COPY_TO_CARD : TIDE_RUN_COPY_HOST;
    }
    bool is_between =
        to_device && tide_vc_n_devices() > 1 && device_of(to, 0) != device_of(from, 0);
    return !to_device   ? TIDE_RUN_COPY_FROM_CARD
           : is_between ? TIDE_RUN_COPY_BETWEEN_CARDS
                        : TIDE_RUN_COPY_ON_CARD;
}

/* A call without a stream waits until the bytes have left the host's memory or have arrived there.
 * A call with a stream does the same if it copies to host memory that is not page-locked. */
static void log_copy(tide_vc_entry entry, const void *to, const void *from, size_t n_bytes,
                     bool is_call_waiting, void *stream) {
    if (!tide_vc_is_logged(entry)) {
        return;
    }
    tide_run_copy which = copy_of(to, from);
    bool is_inside = which == TIDE_RUN_COPY_ON_CARD || which == TIDE_RUN_COPY_BETWEEN_CARDS;
    bool is_received = which == TIDE_RUN_COPY_FROM_CARD && !tide_vc_is_pinned(to);
    bool waits = (is_call_waiting && !is_inside) || is_received;
    tide_run_launch row = {.kind = TIDE_RUN_COPY,
                           .family = (uint8_t)which,
                           .bytes = n_bytes,
                           .flags = waits ? TIDE_RUN_WAITS : 0};
    tide_vc_launch_end(entry, &row, stream, NULL);
}

/* ---- */

static int copy(void *to, const void *from, size_t n_bytes, void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    (void)tide_vc_stream_node(stream, TIDE_VC_NODE_COPY);
    move(to, from, n_bytes, stream);
    log_copy(entry, to, from, n_bytes, false, stream);
    return TIDE_VC_OK;
}

/* A copy without a stream waits for the null stream; pools do not count this as waiting. */
static void wait_for_null(void) {
    if (tide_vc_is_late()) {
        tide_vc_wait_timeline(tide_vc_stream_timeline(NULL));
    }
}

static int copy_and_wait(void *to, const void *from, size_t n_bytes) {
    tide_vc_entry entry = tide_vc_launch_begin();
    wait_for_null();
    move(to, from, n_bytes, NULL);
    log_copy(entry, to, from, n_bytes, true, NULL);
    return TIDE_VC_OK;
}

/* Copies a matrix on the host or the card, line by line; lines are a pitch apart. */
static void move_lines(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                       size_t height, void *stream) {
    for (size_t i = 0; i < height; i++) {
        move((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width, stream);
    }
}

static void fill_line(char *to, const tide_vc_pattern *with, void *stream) {
    if (!tide_vc_is_device(to)) {
        for (size_t i = 0; i < with->n; i++) {
            memcpy(to + i * with->n_bytes, with->value, with->n_bytes);
        }
    } else if (is_captured(stream)) {
        forget_captured(to, with->n * with->n_bytes);
    } else {
        tide_vc_known_fill(to, with->value, with->n_bytes, with->n * with->n_bytes);
    }
}

int tide_vc_fill_lines(void *to, size_t pitch, size_t n_lines, const tide_vc_pattern *with,
                       void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    (void)tide_vc_stream_node(stream, TIDE_VC_NODE_FILL);
    for (size_t i = 0; i < n_lines; i++) {
        fill_line((char *)to + i * pitch, with, stream);
    }
    tide_run_launch row = {.kind = TIDE_RUN_FILL, .bytes = with->n * with->n_bytes * n_lines};
    tide_vc_launch_end(entry, &row, stream, NULL);
    return TIDE_VC_OK;
}

/* Fills with n values of n_pattern bytes. */
static int fill(void *to, const void *pattern, size_t n_pattern, size_t n, void *stream) {
    tide_vc_pattern with = {pattern, n_pattern, n};
    return tide_vc_fill_lines(to, 0, 1, &with, stream);
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
    tide_vc_entry entry = tide_vc_launch_begin();
    wait_for_null();
    move_lines(to, to_pitch, from, from_pitch, width, height, NULL);
    log_copy(entry, to, from, width * height, true, NULL);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                     size_t width, size_t height, int kind, void *stream) {
    (void)kind;
    tide_vc_entry entry = tide_vc_launch_begin();
    (void)tide_vc_stream_node(stream, TIDE_VC_NODE_COPY);
    move_lines(to, to_pitch, from, from_pitch, width, height, stream);
    log_copy(entry, to, from, width * height, false, stream);
    return TIDE_VC_OK;
}

/* A variable of the device's program is not stored. */
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

TIDE_VC_EXPORT int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t n_bytes,
                                           size_t offset, int kind, void *stream) {
    (void)tide_vc_stream_node(stream, TIDE_VC_NODE_COPY);
    return cudaMemcpyToSymbol(symbol, from, n_bytes, offset, kind);
}

TIDE_VC_EXPORT int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t n_bytes,
                                             size_t offset, int kind, void *stream) {
    (void)tide_vc_stream_node(stream, TIDE_VC_NODE_COPY);
    return cudaMemcpyFromSymbol(to, symbol, n_bytes, offset, kind);
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

TIDE_VC_EXPORT int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t n_bytes) {
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n_bytes, NULL);
}

TIDE_VC_EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t n_bytes, void *stream) {
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n_bytes, stream);
}

TIDE_VC_EXPORT int cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context,
                                size_t n_bytes) {
    (void)to_context;
    (void)from_context;
    return cuMemcpyDtoD_v2(to, from, n_bytes);
}

TIDE_VC_EXPORT int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from,
                                     void *from_context, size_t n_bytes, void *stream) {
    (void)to_context;
    (void)from_context;
    return cuMemcpyDtoDAsync_v2(to, from, n_bytes, stream);
}

TIDE_VC_EXPORT int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t n) {
    return cuMemsetD8Async(to, value, n, NULL);
}

TIDE_VC_EXPORT int cuMemsetD16Async(uint64_t to, unsigned short value, size_t n, void *stream) {
    return fill((void *)(uintptr_t)to, &value, sizeof(value), n, stream);
}

TIDE_VC_EXPORT int cuMemsetD16_v2(uint64_t to, unsigned short value, size_t n) {
    return cuMemsetD16Async(to, value, n, NULL);
}

TIDE_VC_EXPORT int cuMemsetD32_v2(uint64_t to, unsigned value, size_t n) {
    return cuMemsetD32Async(to, value, n, NULL);
}
