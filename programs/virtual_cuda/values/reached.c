#include "programs/virtual_cuda/values/reached.h"

#include <pthread.h>
#include <stdbool.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/values/known.h"

enum { ANYWHERE = 0 };

/* The lock guards it. */
static struct reached {
    uint64_t ring[TIDE_VC_REACHED]; /* number i is at i % TIDE_VC_REACHED */
    uint64_t n;                     /* recorded so far */
} reached;
TIDE_VC_LOCK(lock, NULL);

static void add(uint64_t address) {
    pthread_mutex_lock(&lock);
    reached.ring[reached.n++ % TIDE_VC_REACHED] = address;
    pthread_mutex_unlock(&lock);
}

void tide_vc_reached(uint64_t address) {
    if (tide_vc_is_device(
            (const void *)(uintptr_t)address)) { /* NOLINT(performance-no-int-to-ptr) */
        add(address);
    }
}

void tide_vc_reached_anywhere(void) {
    add(ANYWHERE);
}

TIDE_VC_EXPORT uint64_t tidemark_values_reached(uint64_t from, uint64_t *ret_addresses,
                                                uint64_t n) {
    pthread_mutex_lock(&lock);
    uint64_t end = reached.n;
    bool has_all = from <= end && end - from <= TIDE_VC_REACHED;
    for (uint64_t i = from; has_all && i < end && i - from < n; i++) {
        ret_addresses[i - from] = reached.ring[i % TIDE_VC_REACHED];
    }
    pthread_mutex_unlock(&lock);
    return end;
}
