/* entry_copies.c - stand-ins for the copies of the CUDA runtime: a block of the device that the
 * host writes is an input of the program, unless it has a better label. */
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "programs/live/entries/entry_internal.h"

enum { HOST_TO_DEVICE = 1 };

static int copied(int status, const void *to, int kind) {
    if (status == 0 && kind == HOST_TO_DEVICE && tide_live_is_open()) {
        tide_live_label(&(tide_live_label_row){.address = (uint64_t)(uintptr_t)to,
                                               .category = tide_live_text("input"),
                                               .name = TIDE_NONE,
                                               .certainty = TIDE_CERTAINTY_RULE});
    }
    return status;
}

TIDE_LIVE_STAND_IN(cudaMemcpy, void *to, const void *from, size_t n_bytes, int kind) {
    return copied(TIDE_LIVE_NEXT(cudaMemcpy)(to, from, n_bytes, kind), to, kind);
}

TIDE_LIVE_STAND_IN(cudaMemcpyAsync, void *to, const void *from, size_t n_bytes, int kind,
                   void *stream) {
    return copied(TIDE_LIVE_NEXT(cudaMemcpyAsync)(to, from, n_bytes, kind, stream), to, kind);
}

TIDE_LIVE_STAND_IN(cudaMemcpyAsync_ptsz, void *to, const void *from, size_t n_bytes, int kind,
                   void *stream) {
    return copied(TIDE_LIVE_NEXT(cudaMemcpyAsync_ptsz)(to, from, n_bytes, kind, stream), to, kind);
}
