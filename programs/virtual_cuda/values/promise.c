#define _POSIX_C_SOURCE 200809L /* getpid */
#include "programs/virtual_cuda/values/promise.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/assert.h"
#include "common/clock.h"

/* Its state; a positive number is the process that is computing it. */
enum { OPEN = 0, KNOWN = -1, UNKNOWN = -2 };
enum { LOOK_AGAIN_NS = 100000 };

struct tide_vc_promise {
    const tide_vc_promise_kind *kind; /* static */
    void *ctx;                        /* owned; NULL: released */
    unsigned char *bytes;             /* owned; NULL: unknown */
    size_t n_bytes;
    atomic_uint n_holders;
    atomic_long state; /* OPEN, ... */
};

tide_vc_promise *tide_vc_promise_create(const tide_vc_promise_kind *kind, void *ctx,
                                        size_t n_bytes) {
    tide_vc_promise *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        kind->release(ctx);
        return NULL;
    }
    made->kind = kind;
    made->ctx = ctx;
    made->n_bytes = n_bytes;
    atomic_init(&made->n_holders, 1);
    return made;
}

tide_vc_promise *tide_vc_promise_hold(tide_vc_promise *promise) {
    unsigned n_before = atomic_fetch_add(&promise->n_holders, 1);
    TIDE_ASSERT(n_before > 0); /* by its holder */
    return promise;
}

static void release_ctx(tide_vc_promise *promise) {
    if (promise->ctx != NULL) {
        promise->kind->release(promise->ctx);
        promise->ctx = NULL;
    }
}

void tide_vc_promise_drop(tide_vc_promise *promise) {
    if (promise != NULL && atomic_fetch_sub(&promise->n_holders, 1) == 1) {
        release_ctx(promise);
        free(promise->bytes);
        free(promise);
    }
}

bool tide_vc_promise_is_kept(const tide_vc_promise *promise) {
    return atomic_load(&promise->state) < OPEN;
}

static void keep(tide_vc_promise *promise) {
    TIDE_ASSERT(promise->bytes == NULL); /* it is computed once */
    promise->bytes = malloc(promise->n_bytes > 0 ? promise->n_bytes : 1);
    bool is_known = promise->bytes != NULL &&
                    promise->kind->work_out(promise->ctx, promise->bytes, promise->n_bytes);
    if (!is_known) {
        free(promise->bytes);
        promise->bytes = NULL;
    }
    release_ctx(promise);
    atomic_store(&promise->state, is_known ? KNOWN : UNKNOWN);
}

/* Waits while another thread computes it. In the child of a fork that thread does not exist and
 * will never finish, so the bytes are unknown there. The data that the thread held may be half
 * released, and are left alone. */
static void wait_for_other(tide_vc_promise *promise) {
    long state = atomic_load(&promise->state);
    while (state > OPEN) {
        if (state == getpid()) {
            tide_clock_pause_ns(LOOK_AGAIN_NS);
        } else if (atomic_compare_exchange_strong(&promise->state, &state, getpid())) {
            promise->ctx = NULL;
            promise->bytes = NULL;
            atomic_store(&promise->state, UNKNOWN);
        }
        state = atomic_load(&promise->state);
    }
}

const unsigned char *tide_vc_promise_bytes(tide_vc_promise *promise) {
    long state = OPEN;
    if (atomic_compare_exchange_strong(&promise->state, &state, getpid())) {
        keep(promise);
    } else {
        wait_for_other(promise);
    }
    TIDE_ASSERT(tide_vc_promise_is_kept(promise));
    return atomic_load(&promise->state) == KNOWN ? promise->bytes : NULL;
}
