/* Streams of the runtime. */
#include "programs/virtual_cuda/order/streams.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"

enum { LEGACY = 1, PER_THREAD = 2 }; /* special handles */
enum { NON_BLOCKING = 1 };           /* cudaStreamNonBlocking */

static _Thread_local tide_vc_stream default_stream;
static atomic_ullong n_made;

tide_vc_stream *tide_vc_stream_of(void *handle) {
    return (uintptr_t)handle <= PER_THREAD ? &default_stream : handle;
}

tide_vc_timeline *tide_vc_stream_timeline(void *handle) {
    return !tide_vc_is_late()                ? NULL
           : (uintptr_t)handle <= PER_THREAD ? tide_vc_timeline_null(tide_vc_device())
                                             : ((const tide_vc_stream *)handle)->timeline;
}

int tide_vc_stream_device(const void *handle) {
    return (uintptr_t)handle <= PER_THREAD ? tide_vc_device()
                                           : ((const tide_vc_stream *)handle)->device;
}

static int create(void **ret_stream, unsigned flags, int priority) {
    if (ret_stream == NULL) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    int status = tide_vc_context(tide_vc_device());
    if (status != TIDE_VC_OK) {
        return tide_vc_fail(status);
    }
    tide_vc_stream *made = malloc(sizeof(*made));
    if (made == NULL) {
        return tide_vc_fail(tide_vc_host_failed("a stream"));
    }
    *made = (tide_vc_stream){
        .flags = flags,
        .priority = priority,
        .device = tide_vc_device(),
        .timeline = tide_vc_timeline_new(tide_vc_device(), (flags & NON_BLOCKING) == 0),
        .id = atomic_fetch_add(&n_made, 1) + 1};
    *ret_stream = made;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamCreate(void **ret_stream) {
    return create(ret_stream, 0, 0);
}

TIDE_VC_EXPORT int cudaStreamCreateWithFlags(void **ret_stream, unsigned flags) {
    return create(ret_stream, flags, 0);
}

TIDE_VC_EXPORT int cudaStreamCreateWithPriority(void **ret_stream, unsigned flags, int priority) {
    return create(ret_stream, flags, priority);
}

TIDE_VC_EXPORT int cudaStreamDestroy(void *stream) {
    if ((uintptr_t)stream <= PER_THREAD) {
        return tide_vc_fail(TIDE_VC_INVALID_HANDLE);
    }
    tide_vc_timeline_end(((tide_vc_stream *)stream)->timeline);
    free(stream);
    return TIDE_VC_OK;
}

/* Waiting for a stream that is being captured is an error, as on a card. */
static int check(void *stream) {
    return tide_vc_fail(tide_vc_stream_of(stream)->capture == NULL ? TIDE_VC_OK
                                                                   : TIDE_VC_CAPTURE_UNSUPPORTED);
}

TIDE_VC_EXPORT int cudaStreamSynchronize(void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    int status = check(stream);
    if (status == TIDE_VC_OK) {
        tide_vc_wait_timeline(tide_vc_stream_timeline(stream));
        tide_vc_launch_end(entry, &(tide_run_launch){.kind = TIDE_RUN_WAIT_STREAM}, stream, NULL);
    }
    return status;
}

TIDE_VC_EXPORT int cudaStreamQuery(void *stream) {
    int status = check(stream);
    bool is_idle =
        status != TIDE_VC_OK || tide_vc_timeline_is_idle(tide_vc_stream_timeline(stream));
    return is_idle ? status : tide_vc_fail(TIDE_VC_NOT_READY);
}

TIDE_VC_EXPORT int cudaStreamGetPriority(void *stream, int *ret_priority) {
    *ret_priority = tide_vc_stream_of(stream)->priority;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamGetFlags(void *stream, unsigned *ret_flags) {
    *ret_flags = tide_vc_stream_of(stream)->flags;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamGetId(void *stream, unsigned long long *ret_id) {
    *ret_id = tide_vc_stream_of(stream)->id;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamGetDevice(void *stream, int *ret_device) {
    *ret_device = tide_vc_stream_device(stream);
    return TIDE_VC_OK;
}

/* Cache policy and how threads wait: neither changes a size. */
TIDE_VC_EXPORT int cudaStreamSetAttribute(void *stream, int attribute, const void *value) {
    (void)stream;
    (void)attribute;
    (void)value;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamCopyAttributes(void *to, void *from) {
    (void)to;
    (void)from;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaCtxResetPersistingL2Cache(void) {
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
    if (!tide_vc_stream_node(stream, TIDE_VC_NODE_HOST)) {
        tide_vc_timeline_work(tide_vc_stream_timeline(stream));
        function(data);
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *),
                                         void *data, unsigned flags) {
    (void)flags;
    function(stream, TIDE_VC_OK, data);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cuStreamSynchronize(void *stream) {
    return cudaStreamSynchronize(stream);
}

TIDE_VC_EXPORT int cuStreamQuery(void *stream) {
    return cudaStreamQuery(stream);
}

TIDE_VC_EXPORT int cuStreamCreate(void **ret_stream, unsigned flags) {
    return create(ret_stream, flags, 0);
}

TIDE_VC_EXPORT int cuStreamDestroy_v2(void *stream) {
    return cudaStreamDestroy(stream);
}
