/* promise.h - bytes of the device that become known when they are read.
 *
 * The result of a collective depends on other processes, which may not have reached it yet. On a
 * card the call returns immediately, and the stream waits. Here the call leaves a promise with
 * known.h, and the first reader of the bytes waits. Gradients are never read, so they cause no
 * wait.
 *
 * Thread-safe. A promise is counted: each keeper holds it, and drops it once.
 */
#ifndef TIDE_VIRTUAL_CUDA_PROMISE_H
#define TIDE_VIRTUAL_CUDA_PROMISE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tide_vc_promise tide_vc_promise;

/* How the bytes of a promise are computed. */
typedef struct tide_vc_promise_kind {
    /* Writes n_bytes to `to`; false: they are unknown. Called at most once, without any lock. */
    bool (*work_out)(void *ctx, unsigned char *to, size_t n_bytes);
    void (*release)(void *ctx); /* called once, whether work_out was called or not */
} tide_vc_promise_kind;

/* A promise of n_bytes, which the caller holds. `kind` is static. NULL: there is no host memory,
 * and ctx is released. */
tide_vc_promise *tide_vc_promise_create(const tide_vc_promise_kind *kind, void *ctx,
                                        size_t n_bytes);

tide_vc_promise *tide_vc_promise_hold(tide_vc_promise *promise);
/* NULL is allowed. */
void tide_vc_promise_drop(tide_vc_promise *promise);

/* Whether its bytes were computed. */
bool tide_vc_promise_is_kept(const tide_vc_promise *promise);

/* The bytes, computed now if they were not yet; NULL: they are unknown. Valid as long as the
 * promise is held. If another thread is computing them, waits for it. In a child that was forked
 * meanwhile they are unknown. */
const unsigned char *tide_vc_promise_bytes(tide_vc_promise *promise);

#endif
