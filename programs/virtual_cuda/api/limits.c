/* A context's limits: the stack of a thread, the buffer of printf, the heap of malloc in kernels. A
 * program that sets a limit reads back its value. No kernel runs, so no limit is ever reached. The
 * memory that a card would reserve for them is part of the context's. */
#include <stddef.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"

/* Of cudaLimit and CUlimit, which share their numbers; all other limits read 0. */
enum { LIMIT_STACK = 0, LIMIT_PRINTF = 1, LIMIT_HEAP = 2, N_LIMITS = 8 };

typedef struct limits {
    size_t values[N_LIMITS];
} limits;

/* A context's values before any is set. */
static const limits DEFAULTS = {
    {[LIMIT_STACK] = 1024, [LIMIT_PRINTF] = (size_t)1 << 20, [LIMIT_HEAP] = (size_t)8 << 20}};

static limits changed[TIDE_VC_MAX_DEVICES]; /* the set value less the default; 0: not set */

TIDE_VC_EXPORT int cuCtxGetLimit(size_t *ret_value, int limit) {
    if (limit < 0 || limit >= N_LIMITS || ret_value == NULL) {
        return TIDE_VC_INVALID_VALUE;
    }
    /* The difference may be negative; unsigned addition still gives the right sum. */
    *ret_value = DEFAULTS.values[limit] + changed[tide_vc_device()].values[limit];
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuCtxSetLimit(int limit, size_t value) {
    if (limit < 0 || limit >= N_LIMITS) {
        return TIDE_VC_INVALID_VALUE;
    }
    changed[tide_vc_device()].values[limit] = value - DEFAULTS.values[limit];
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceGetLimit(size_t *ret_value, int limit) {
    return tide_vc_fail(cuCtxGetLimit(ret_value, limit));
}

TIDE_VC_EXPORT int cudaDeviceSetLimit(int limit, size_t value) {
    return tide_vc_fail(cuCtxSetLimit(limit, value));
}
