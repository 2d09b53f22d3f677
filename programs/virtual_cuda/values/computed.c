#include "programs/virtual_cuda/values/computed.h"

#include <stdatomic.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/values/known.h"

static _Atomic(tidemark_values_compute) asked;

TIDE_VC_EXPORT void tidemark_values_computes(tidemark_values_compute compute) {
    atomic_store(&asked, compute);
}

bool tide_vc_computed_read(uint64_t address, size_t n_bytes, void *to) {
    tidemark_values_compute compute = atomic_load(&asked);
    if (compute != NULL && compute(to, address, n_bytes) != 0) {
        return true;
    }
    const void *from = (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
    return tide_vc_known_peek(to, from, n_bytes);
}
