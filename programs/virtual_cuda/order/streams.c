/* Streams of the runtime. */
#include "programs/virtual_cuda/order/streams.h"

#include <pthread.h>
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

enum { NON_BLOCKING = 1 }; /* cudaStreamNonBlocking */

/* The null stream has one timeline for each device, and so has the stream of a thread. */
typedef struct thread_stream {
    tide_vc_stream stream;
    tide_vc_timeline *timelines[TIDE_VC_MAX_DEVICES]; /* NULL: not made yet */
} thread_stream;

static _Thread_local struct special {
    tide_vc_stream null_stream;
    bool null_is_of_thread; /* NULL is the stream of the thread */
} special;

static struct streams {
    atomic_ullong n_made;
    pthread_once_t once;      /* makes the key */
    pthread_key_t thread_key; /* a thread_stream, from malloc */
    bool has_key;             /* written once, with the key */
} streams = {.once = PTHREAD_ONCE_INIT};

/* A thread that ends during its capture leaves its stream to the capture. */
static void end_thread(void *which) {
    thread_stream *of = which;
    for (size_t i = 0; i < TIDE_VC_MAX_DEVICES; i++) {
        tide_vc_timeline_end(of->timelines[i]);
    }
    if (of->stream.capture == NULL) {
        free(of);
    }
}

static void make_key(void) {
    streams.has_key = pthread_key_create(&streams.thread_key, end_thread) == 0;
}

/* NULL if there is no host memory. */
static thread_stream *of_thread(void) {
    (void)pthread_once(&streams.once, make_key);
    thread_stream *of = streams.has_key ? pthread_getspecific(streams.thread_key) : NULL;
    if (of == NULL && streams.has_key) {
        of = calloc(1, sizeof(*of));
        if (of != NULL && pthread_setspecific(streams.thread_key, of) != 0) {
            free(of);
            of = NULL;
        }
        if (of != NULL) {
            of->stream.id = atomic_fetch_add(&streams.n_made, 1) + 1;
        }
    }
    return of;
}

static bool is_special(const void *handle) {
    return (uintptr_t)handle <= TIDE_VC_PER_THREAD;
}

static thread_stream *thread_stream_of(const void *handle) {
    bool is_of_thread =
        (uintptr_t)handle == TIDE_VC_PER_THREAD || (handle == NULL && special.null_is_of_thread);
    return is_of_thread ? of_thread() : NULL;
}

tide_vc_stream *tide_vc_stream_of(void *handle) {
    if (!is_special(handle)) {
        return handle;
    }
    thread_stream *of = thread_stream_of(handle);
    return of != NULL ? &of->stream : &special.null_stream;
}

static tide_vc_timeline *special_timeline(const void *handle, int device) {
    thread_stream *of = thread_stream_of(handle);
    if (of != NULL && of->timelines[device] == NULL) {
        of->timelines[device] = tide_vc_timeline_new(device, true);
    }
    return of != NULL && of->timelines[device] != NULL ? of->timelines[device]
                                                       : tide_vc_timeline_null(device);
}

tide_vc_timeline *tide_vc_stream_timeline(void *handle) {
    return !tide_vc_is_late()   ? NULL
           : is_special(handle) ? special_timeline(handle, tide_vc_device())
                                : ((const tide_vc_stream *)handle)->timeline;
}

int tide_vc_stream_device(const void *handle) {
    return is_special(handle) ? tide_vc_device() : ((const tide_vc_stream *)handle)->device;
}

void tide_vc_stream_null_is_of_thread(bool is_of_thread) {
    special.null_is_of_thread = is_of_thread;
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
        .id = atomic_fetch_add(&streams.n_made, 1) + 1};
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
    if (is_special(stream)) {
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
