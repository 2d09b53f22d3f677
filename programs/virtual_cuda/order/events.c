/* Events. Their time is the host's clock when they were recorded, or the card's if the program sees
 * a forecast. */
#include "programs/virtual_cuda/order/events.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/clock.h"
#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/launches/card_clock.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/order/graphs.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/nccl/watchdog.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/order/streams.h"

/* cudaEventRecordExternal and cudaEventWaitExternal: in a capture, the event is a node. Outside of
 * a capture the flag is an error, as is any other. */
enum { EXTERNAL = 1 };

typedef struct event {
    atomic_uint n_uses;     /* by the program, and by graphs that have it as a node */
    tide_vc_graph *capture; /* borrowed; not NULL if a stream that was being captured recorded it */
    unsigned long long capture_id;
    size_t capture_node; /* the graph's number of nodes at that time */
    tide_vc_mark mark;   /* the work that must be complete */
    uint64_t time_ns;    /* 0: never recorded, except perhaps in a capture */
    uint64_t number;     /* unique in the process, from 1 on */
    unsigned flags;
    bool was_refused; /* since it was recorded, a query returned "not ready" */
} event;

static atomic_ullong n_made;

/* A row of the launch log about the event. */
static void log_event(tide_vc_entry entry, tide_run_launch_kind kind, const event *of,
                      void *stream) {
    tide_run_launch row = {.kind = (uint8_t)kind, .bytes = of->number};
    tide_vc_launch_end(entry, &row, stream, NULL);
}

/* The host waited for the event; the row has the device, not a stream. */
static void log_wait(tide_vc_entry entry, const event *of) {
    tide_run_launch row = {.kind = TIDE_RUN_WAIT_EVENT, .bytes = of->number};
    tide_vc_launch_end_on(entry, &row, tide_vc_device(), NULL);
}

int tide_vc_event_new(void **ret_event, unsigned flags) {
    if (ret_event == NULL) {
        return TIDE_VC_INVALID_VALUE;
    }
    int status = tide_vc_context(tide_vc_device());
    if (status != TIDE_VC_OK) {
        return status;
    }
    event *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return tide_vc_host_failed("an event");
    }
    atomic_init(&made->n_uses, 1);
    made->flags = flags;
    made->number = atomic_fetch_add(&n_made, 1) + 1;
    *ret_event = made;
    return TIDE_VC_OK;
}

bool tide_vc_event_is_interprocess(const void *which) {
    return (((const event *)which)->flags & TIDE_VC_EVENT_INTERPROCESS) != 0;
}

TIDE_VC_EXPORT int cudaEventCreate(void **ret_event) {
    return tide_vc_fail(tide_vc_event_new(ret_event, 0));
}

TIDE_VC_EXPORT int cudaEventCreateWithFlags(void **ret_event, unsigned flags) {
    return tide_vc_fail(tide_vc_event_new(ret_event, flags));
}

void tide_vc_event_keep(void *which) {
    atomic_fetch_add(&((event *)which)->n_uses, 1);
}

void tide_vc_event_release(void *which) {
    event *of = which;
    if (of != NULL && atomic_fetch_sub(&of->n_uses, 1) == 1) {
        tide_vc_mark_end(&of->mark);
        tide_vc_card_clock_forget(of->number);
        free(of);
    }
}

TIDE_VC_EXPORT int cudaEventDestroy(void *which) {
    tide_vc_event_release(which);
    return TIDE_VC_OK;
}

void tide_vc_event_record(void *which, void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    event *of = which;
    of->was_refused = false;
    of->capture = NULL;
    tide_vc_mark_end(&of->mark);
    of->mark = tide_vc_mark_now(tide_vc_stream_timeline(stream));
    of->time_ns = (uint64_t)tide_clock_now_ns();
    log_event(entry, TIDE_RUN_RECORD, of, stream);
}

/* In a capture the event marks a place in the graph, not work: other streams may wait for it, which
 * joins them to the capture. Nothing else may wait for it. */
static void record_place(event *of, tide_vc_graph *capture) {
    of->was_refused = false;
    of->capture = capture;
    of->capture_id = tide_vc_graph_id(capture);
    of->capture_node = tide_vc_graph_n_nodes(capture);
    tide_vc_mark_end(&of->mark);
}

static bool are_flags(unsigned flags, const tide_vc_graph *capture) {
    return flags == 0 || (flags == EXTERNAL && capture != NULL);
}

TIDE_VC_EXPORT int cudaEventRecordWithFlags(void *which, void *stream, unsigned flags) {
    tide_vc_graph *capture = tide_vc_stream_of(stream)->capture;
    if (!are_flags(flags, capture)) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    if (capture == NULL) {
        tide_vc_event_record(which, stream);
    } else if (flags == EXTERNAL) {
        (void)tide_vc_stream_node(stream, TIDE_VC_NODE_RECORD);
        return tide_vc_fail(tide_vc_graph_add_event(capture, which, false));
    } else {
        record_place(which, capture);
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaEventRecord(void *which, void *stream) {
    return cudaEventRecordWithFlags(which, stream, 0);
}

/* Whether the event marks a place in a capture that is still in progress. */
static bool is_captured(const event *of) {
    return of->capture != NULL && tide_vc_graph_is_capturing(of->capture, of->capture_id);
}

/* An event that a capture recorded cannot be queried, even after the capture: it belongs to no
 * launch of the graph. */
static int check(const event *of) {
    int status = of->capture == NULL ? TIDE_VC_OK : TIDE_VC_INVALID_VALUE;
    return tide_vc_fail(is_captured(of) ? TIDE_VC_CAPTURED_EVENT : status);
}

/* A query is not logged, because the program continues whatever the answer is. A query that
 * succeeds after a "not ready" ends a polling loop and is logged as a wait. */
TIDE_VC_EXPORT int cudaEventQuery(void *which) {
    tide_vc_entry entry = tide_vc_launch_begin();
    event *of = which;
    if (tide_vc_watchdog_is_held()) {
        return tide_vc_fail(TIDE_VC_NOT_READY);
    }
    int status = check(which);
    bool is_done = status != TIDE_VC_OK || tide_vc_mark_is_done(of->mark);
    if (is_done && of->was_refused && status == TIDE_VC_OK) {
        log_wait(entry, of);
    }
    of->was_refused = !is_done;
    return is_done ? status : tide_vc_fail(TIDE_VC_NOT_READY);
}

TIDE_VC_EXPORT int cudaEventSynchronize(void *which) {
    tide_vc_entry entry = tide_vc_launch_begin();
    int status = check(which);
    if (status == TIDE_VC_OK) {
        tide_vc_wait_mark(((const event *)which)->mark);
        log_wait(entry, which);
    }
    return status;
}

void tide_vc_event_follow(const void *which, void *stream) {
    tide_vc_entry entry = tide_vc_launch_begin();
    const event *of = which;
    tide_vc_timeline_follow(tide_vc_stream_timeline(stream), of->mark);
    log_event(entry, TIDE_RUN_STREAM_WAIT, of, stream);
}

/* A stream that waits for an event of a capture joins the capture. */
TIDE_VC_EXPORT int cudaStreamWaitEvent(void *stream, void *which, unsigned flags) {
    tide_vc_graph *capture = tide_vc_stream_of(stream)->capture;
    const event *of = which;
    if (!are_flags(flags, capture)) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    if (flags == EXTERNAL) {
        (void)tide_vc_stream_node(stream, TIDE_VC_NODE_WAIT);
        return tide_vc_fail(tide_vc_graph_add_event(capture, which, true));
    }
    if (is_captured(of)) {
        tide_vc_graph_join(of->capture, tide_vc_stream_of(stream), of->capture_node);
    } else if (capture == NULL) {
        tide_vc_event_follow(which, stream);
    }
    return TIDE_VC_OK;
}

/* Whether it was recorded outside of a capture, with its time. */
static bool has_time(const event *of) {
    return of->time_ns != 0 && (of->flags & TIDE_VC_EVENT_DISABLE_TIMING) == 0;
}

TIDE_VC_EXPORT int cudaEventElapsedTime(float *ret_ms, void *begin, void *end) {
    const event *from = begin;
    const event *to = end;
    if (ret_ms == NULL) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    int status = check(from);
    status = status == TIDE_VC_OK ? check(to) : status;
    if (status != TIDE_VC_OK) {
        return status;
    }
    if (!has_time(from) || !has_time(to)) {
        return tide_vc_fail(TIDE_VC_INVALID_HANDLE);
    }
    if (!tide_vc_mark_is_done(from->mark) || !tide_vc_mark_is_done(to->mark)) {
        return tide_vc_fail(TIDE_VC_NOT_READY);
    }
    double from_us = 0.0;
    double to_us = 0.0;
    if (tide_vc_card_clock_event(from->number, &from_us) &&
        tide_vc_card_clock_event(to->number, &to_us)) {
        *ret_ms = (float)((to_us - from_us) * 1e-3);
        return TIDE_VC_OK;
    }
    tide_vc_inexact("cudaEventElapsedTime", "no kernel runs: times mean nothing, nor does what an "
                                            "autotuner chooses by them; with --clock virtual they "
                                            "are a forecast");
    *ret_ms = (float)((double)(int64_t)(to->time_ns - from->time_ns) * 1e-6);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaEventElapsedTime_v2(float *ret_ms, void *begin, void *end) {
    return cudaEventElapsedTime(ret_ms, begin, end);
}
