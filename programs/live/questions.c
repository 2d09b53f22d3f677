#include "programs/live/questions.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "common/lock_friend.h"
#include "programs/live/real.h"

static struct {
    tide_lock lock;
    atomic_bool is_there;
    tide_live_questions ask;
} state;

/* A function of the driver, as the pointer's own type. */
#define FIND(pointer, name)                                                                        \
    ((pointer) = (__typeof__(pointer))(void (*)(void))tide_live_real_named(name, NULL))

/* Two threads may search at the same time; both find the same. */
static void find(void) {
    tide_live_questions found;
    FIND(found.get_info, "cuMemGetInfo_v2");
    FIND(found.current_device, "cuCtxGetDevice");
    FIND(found.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    FIND(found.push, "cuCtxPushCurrent_v2");
    FIND(found.pop, "cuCtxPopCurrent_v2");
    FIND(found.default_pool, "cuDeviceGetDefaultMemPool");
    FIND(found.pool_attribute, "cuMemPoolGetAttribute");
    FIND(found.graph_attribute, "cuDeviceGetGraphMemAttribute");
    if (found.default_pool == NULL || found.pool_attribute == NULL) { /* the runtime's are alike */
        FIND(found.default_pool, "cudaDeviceGetDefaultMemPool");
        FIND(found.pool_attribute, "cudaMemPoolGetAttribute");
    }
    FIND(found.context_state, "cuDevicePrimaryCtxGetState");
    FIND(found.nccl_bytes, "tidemark_nccl_bytes");
    if (found.get_info == NULL) {
        return;
    }
    tide_lock_acquire(&state.lock);
    if (!atomic_load(&state.is_there)) {
        state.ask = found;
        atomic_store_explicit(&state.is_there, true, memory_order_release);
    }
    tide_lock_release(&state.lock);
}

const tide_live_questions *tide_live_questions_to_driver(void) {
    if (!atomic_load_explicit(&state.is_there, memory_order_acquire)) {
        find();
    }
    return atomic_load_explicit(&state.is_there, memory_order_acquire) ? &state.ask : NULL;
}
