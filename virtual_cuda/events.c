/* Events: complete when they are recorded. Their times are those of the host's clock. */
#include "virtual_cuda/events.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/clock.h"
#include "virtual_cuda/account.h"
#include "virtual_cuda/export.h"
#include "virtual_cuda/graphs.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/pools.h"
#include "virtual_cuda/status.h"
#include "virtual_cuda/streams.h"

typedef struct event {
    tide_vc_graph *capture; /* borrowed; it was recorded in a stream that was being captured */
    unsigned long long capture_id;
    uint64_t time_ns;
    unsigned flags;
} event;

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
        return TIDE_VC_MEMORY;
    }
    made->flags = flags;
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

TIDE_VC_EXPORT int cudaEventDestroy(void *which) {
    free(which);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaEventRecord(void *which, void *stream) {
    event *of = which;
    of->capture = tide_vc_stream_of(stream)->capture;
    of->capture_id = of->capture != NULL ? tide_vc_graph_id(of->capture) : 0;
    of->time_ns = (uint64_t)tide_clock_now_ns();
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaEventRecordWithFlags(void *which, void *stream, unsigned flags) {
    (void)flags;
    return cudaEventRecord(which, stream);
}

/* Whether the event stands for work of a capture that still goes on. */
static bool is_captured(const event *of) {
    return of->capture != NULL && tide_vc_graph_is_capturing(of->capture, of->capture_id);
}

static int wait_for(const event *of) {
    return tide_vc_fail(is_captured(of) ? TIDE_VC_CAPTURED_EVENT : TIDE_VC_OK);
}

TIDE_VC_EXPORT int cudaEventQuery(void *which) {
    return wait_for(which);
}

TIDE_VC_EXPORT int cudaEventSynchronize(void *which) {
    int status = wait_for(which);
    if (status == TIDE_VC_OK) {
        tide_vc_pools_waited();
    }
    return status;
}

/* A stream that waits for an event of a capture joins the capture. */
TIDE_VC_EXPORT int cudaStreamWaitEvent(void *stream, void *which, unsigned flags) {
    (void)flags;
    const event *of = which;
    if (is_captured(of)) {
        tide_vc_graph_join(of->capture, tide_vc_stream_of(stream));
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaEventElapsedTime(float *ret_ms, void *begin, void *end) {
    const event *from = begin;
    const event *to = end;
    tide_vc_inexact("cudaEventElapsedTime", "no kernel runs: times mean nothing, nor does what an "
                                            "autotuner chooses by them");
    *ret_ms = (float)((double)(int64_t)(to->time_ns - from->time_ns) * 1e-6);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaEventElapsedTime_v2(float *ret_ms, void *begin, void *end) {
    return cudaEventElapsedTime(ret_ms, begin, end);
}
