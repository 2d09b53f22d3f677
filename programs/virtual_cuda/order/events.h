/* events.h - events, as graphs and sharing between processes use them.
 */
#ifndef TIDE_VIRTUAL_CUDA_EVENTS_H
#define TIDE_VIRTUAL_CUDA_EVENTS_H

#include <stdbool.h>

/* cudaEventDisableTiming and cudaEventInterprocess. */
enum { TIDE_VC_EVENT_DISABLE_TIMING = 2, TIDE_VC_EVENT_INTERPROCESS = 4 };

/* TIDE_VC_OK, or a status of tide_vc_context or host_failure.h. The caller destroys the event with
 * cudaEventDestroy. */
int tide_vc_event_new(void **ret_event, unsigned flags);

bool tide_vc_event_is_interprocess(const void *event);

/* Graphs keep the events they use: an event that the program destroys lives until its last user
 * releases it. */
void tide_vc_event_keep(void *event);
void tide_vc_event_release(void *event);

/* Records the event on a stream, or makes the stream wait for it. The handle is not being
 * captured. */
void tide_vc_event_record(void *event, void *stream);
void tide_vc_event_follow(const void *event, void *stream);

#endif
