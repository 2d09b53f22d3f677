#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "fake_cudart/fake_copies.h"
#include "fake_cudart/fake_graph.h"
#include "fake_cudart/fake_internal.h"

/* Both kinds of handles are in lists, so that foreign ones are found. */
struct CUstream_st {
    struct CUstream_st *next; /* owned list */
    unsigned number;          /* tide_fake_stream_number */
};

struct CUevent_st {
    struct CUevent_st *next; /* owned list */
    cudaStream_t stream;     /* of the last record */
    uint64_t record;         /* the number of the last record; 0: none */
    size_t n_queries_left;   /* that answer 600 */
    bool is_recorded;        /* at all */
    bool is_captured;        /* the last record was */
    bool has_time;           /* timing was not disabled */
    double time_ms;          /* of the last record */
};

/* Guarded by the runtime's lock. */
static struct {
    struct CUstream_st *streams; /* live, owned */
    struct CUevent_st *events;   /* live, owned */
    unsigned n_streams_made;     /* since the last clearing */
    uint64_t n_records;          /* so far */
} runtime;

void tide_fake_clear_handles(void) {
    runtime.n_streams_made = 0;
    while (runtime.streams != NULL) {
        struct CUstream_st *stream = runtime.streams;
        runtime.streams = stream->next;
        free(stream);
    }
    while (runtime.events != NULL) {
        struct CUevent_st *event = runtime.events;
        runtime.events = event->next;
        free(event);
    }
}

unsigned tide_fake_stream_number(cudaStream_t stream) {
    return stream == NULL ? 0 : stream->number;
}

/* Everything recorded so far on a stream, or on all of them, is reached. */
void tide_fake_reach(cudaStream_t stream, bool all) {
    tide_fake_copies_finish();
    for (struct CUevent_st *event = runtime.events; event != NULL; event = event->next) {
        if (all || event->stream == stream) {
            event->n_queries_left = 0;
        }
    }
}

cudaError_t tide_fake_check_stream(cudaStream_t stream) {
    struct CUstream_st *live = runtime.streams;
    while (live != NULL && live != stream) {
        live = live->next;
    }
    return stream == NULL || live != NULL
               ? cudaSuccess
               : tide_fake_mistake(cudaErrorInvalidResourceHandle, "%p is not a live stream",
                                   (void *)stream);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags) {
    (void)flags;
    cudaError_t result = tide_fake_enter("cudaStreamCreateWithFlags");
    if (result == cudaSuccess) {
        struct CUstream_st *stream = malloc(sizeof(*stream));
        if (stream == NULL) {
            return tide_fake_leave(cudaErrorMemoryAllocation);
        }
        *stream = (struct CUstream_st){runtime.streams, ++runtime.n_streams_made};
        runtime.streams = stream;
        tide_fake_cudart_locked()->n_streams++;
        *pStream = stream;
    }
    return tide_fake_leave(result);
}

static cudaError_t destroy_stream(cudaStream_t stream) {
    for (struct CUstream_st **link = &runtime.streams; *link != NULL; link = &(*link)->next) {
        if (*link == stream) {
            *link = stream->next;
            tide_fake_reach(stream, false);
            free(stream);
            tide_fake_cudart_locked()->n_streams--;
            return cudaSuccess;
        }
    }
    return tide_fake_mistake(cudaErrorInvalidResourceHandle, "%p is not a live stream",
                             (void *)stream);
}

/* Late work stays: the real runtime does not wait for it either. */
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    cudaError_t result = tide_fake_enter("cudaStreamDestroy");
    return tide_fake_leave(result == cudaSuccess ? destroy_stream(stream) : result);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    tide_fake_queue_finish(stream, false);
    cudaError_t result = tide_fake_enter("cudaStreamSynchronize");
    if (result == cudaSuccess) {
        result = tide_fake_check_stream(stream);
    }
    if (result == cudaSuccess) {
        result = tide_fake_graph_forbid(stream, false);
    }
    if (result == cudaSuccess) {
        tide_fake_reach(stream, false);
    }
    return tide_fake_leave(result);
}

/* Events. */

static cudaError_t check_event(cudaEvent_t event) {
    const struct CUevent_st *live = runtime.events;
    while (live != NULL && live != event) {
        live = live->next;
    }
    return live != NULL ? cudaSuccess
                        : tide_fake_mistake(cudaErrorInvalidResourceHandle,
                                            "%p is not a live event", (void *)event);
}

/* With a captured stream on either side the wait is a part of the graph. `ret_record`: the record
 * still to wait for; 0: none. */
static cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event, uint64_t *ret_record) {
    tide_fake_cudart *fake = tide_fake_cudart_locked();
    if (++fake->n_waits == fake->ignored_wait) {
        return cudaSuccess;
    }
    if (tide_fake_graph_has(stream) || event->is_captured) {
        return tide_fake_graph_wait(stream, event->record);
    }
    *ret_record = event->record;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    uint64_t record = 0;
    (void)flags;
    cudaError_t result = tide_fake_enter("cudaStreamWaitEvent");
    if (result == cudaSuccess) {
        result = tide_fake_check_stream(stream);
    }
    if (result == cudaSuccess) {
        result = check_event(event);
    }
    result = tide_fake_leave(result == cudaSuccess ? wait_event(stream, event, &record) : result);
    if (record != 0) {
        tide_fake_queue_wait(stream, record);
    }
    return result;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    cudaError_t result = tide_fake_enter("cudaEventCreateWithFlags");
    if (result == cudaSuccess) {
        struct CUevent_st *made = malloc(sizeof(*made));
        if (made == NULL) {
            return tide_fake_leave(cudaErrorMemoryAllocation);
        }
        *made = (struct CUevent_st){.next = runtime.events,
                                    .has_time = (flags & cudaEventDisableTiming) == 0};
        runtime.events = made;
        tide_fake_cudart_locked()->n_events++;
        *event = made;
    }
    return tide_fake_leave(result);
}

static cudaError_t destroy_event(cudaEvent_t event) {
    for (struct CUevent_st **link = &runtime.events; *link != NULL; link = &(*link)->next) {
        if (*link == event) {
            *link = event->next;
            free(event);
            tide_fake_cudart_locked()->n_events--;
            return cudaSuccess;
        }
    }
    return tide_fake_mistake(cudaErrorInvalidResourceHandle, "%p is not a live event",
                             (void *)event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    cudaError_t result = tide_fake_enter("cudaEventDestroy");
    return tide_fake_leave(result == cudaSuccess ? destroy_event(event) : result);
}

static double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void record_event(cudaEvent_t event, cudaStream_t stream) {
    event->stream = stream;
    event->record = ++runtime.n_records;
    event->n_queries_left = tide_fake_cudart_locked()->event_delay;
    event->is_captured = tide_fake_graph_has(stream);
    event->is_recorded = !event->is_captured; /* a captured event has no time */
    event->time_ms = now_ms();
    if (event->is_captured) {
        tide_fake_graph_record(stream, event->record);
    }
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    uint64_t record = 0;
    cudaError_t result = tide_fake_enter("cudaEventRecord");
    if (result == cudaSuccess) {
        result = check_event(event);
    }
    if (result == cudaSuccess) {
        result = tide_fake_check_stream(stream);
    }
    if (result == cudaSuccess) {
        record_event(event, stream);
        record = event->is_captured ? 0 : event->record;
    }
    result = tide_fake_leave(result);
    if (record != 0) {
        tide_fake_queue_record(stream, record);
    }
    return result;
}

/* Runs the work before the last record, if that is late. */
static cudaError_t reach_event(cudaEvent_t event) {
    tide_fake_lock();
    cudaError_t result = check_event(event);
    uint64_t record = result == cudaSuccess ? event->record : 0;
    (void)tide_fake_leave_beside(cudaSuccess);
    tide_fake_queue_reach(record);
    return result;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    cudaError_t live = reach_event(event);
    cudaError_t result = tide_fake_enter("cudaEventQuery");
    if (result == cudaSuccess) {
        result = live;
    }
    if (result == cudaSuccess && event->n_queries_left > 0) {
        event->n_queries_left--;
        result = cudaErrorNotReady;
    }
    return tide_fake_leave(result);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    cudaError_t live = reach_event(event);
    cudaError_t result = tide_fake_enter("cudaEventSynchronize");
    if (result == cudaSuccess) {
        result = live;
    }
    if (result == cudaSuccess) {
        tide_fake_copies_finish(); /* the events before it are reached, but the order across streams
                                      is unknown */
        event->n_queries_left = 0;
    }
    return tide_fake_leave(result);
}

static cudaError_t elapsed(float *ms, cudaEvent_t start, cudaEvent_t end) {
    if (!start->is_recorded || !end->is_recorded || !start->has_time || !end->has_time) {
        return cudaErrorInvalidResourceHandle;
    }
    if (start->n_queries_left > 0 || end->n_queries_left > 0) {
        return cudaErrorNotReady;
    }
    *ms = (float)(end->time_ms - start->time_ms);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    cudaError_t result = tide_fake_enter("cudaEventElapsedTime");
    if (result == cudaSuccess) {
        result = check_event(start);
    }
    if (result == cudaSuccess) {
        result = check_event(end);
    }
    return tide_fake_leave(result == cudaSuccess ? elapsed(ms, start, end) : result);
}
