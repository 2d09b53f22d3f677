/* events.h - events, for those that share them between processes, and for graphs.
 */
#ifndef TIDE_VIRTUAL_CUDA_EVENTS_H
#define TIDE_VIRTUAL_CUDA_EVENTS_H

#include <stdbool.h>

/* cudaEventDisableTiming and cudaEventInterprocess. */
enum { TIDE_VC_EVENT_DISABLE_TIMING = 2, TIDE_VC_EVENT_INTERPROCESS = 4 };

/* TIDE_VC_OK, or a status of tide_vc_context, or of host_failure.h. The caller destroys it with
 * cudaEventDestroy. */
int tide_vc_event_new(void **ret_event, unsigned flags);

bool tide_vc_event_is_interprocess(const void *event);

/* A graph that has the event uses it, too: it stays when the program destroys it, until the last
 * user releases it. */
void tide_vc_event_keep(void *event);
void tide_vc_event_release(void *event);

/* Records the event on a stream, a handle that is not being captured; or lets the stream wait for
 * it. */
void tide_vc_event_record(void *event, void *stream);
void tide_vc_event_follow(const void *event, void *stream);

#endif
