/* scope_times.h - when the device did what a scope encloses: device events where each scope of one
 * thread begins and ends, and their times on the recorder's clock.
 *
 * The host only submits work; the device does it later. So each scope that the thread opens while
 * this is attached records an event on a stream where it begins and one where it ends, and after a
 * synchronisation the times between events become device begin and duration of the scope.
 *
 * The two clocks are tied together when the object is created and when it is finished: an event is
 * recorded on an idle device and waited for, so that its time lies between two readings of the
 * host's clock; the narrowest of several tries counts. Between the two anchors the device's time is
 * taken as a straight line. What that leaves open is stated by the recording, in ns.
 *
 * Where a scope begins or ends right after another one and nothing was submitted in between, both
 * share one event. What an event takes is measured when the object is created, so that whoever
 * measures short steps can leave out the scopes whose events would be too many.
 *
 * Of the thread that creates it, except where said. One at a time on a recorder.
 */
#ifndef TIDE_RECORDER_SCOPE_TIMES_H
#define TIDE_RECORDER_SCOPE_TIMES_H

#include <stdint.h>

#include "device/device.h"
#include "recorder/recorder.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two events of a GPU are told apart only when they lie further apart than this: what the CUDA
 * runtime's documentation says of cudaEventElapsedTime. Part of the stated uncertainty. */
#define TIDE_EVENT_RESOLUTION_NS 500

typedef struct tide_scope_times tide_scope_times;

/* Waits for the device, takes the first anchor, and times the calling thread's scopes from now on.
 * TIDE_INVALID when another one is attached to the recorder. Device and recorder are borrowed and
 * outlive it. */
TIDE_NODISCARD tide_status tide_scope_times_create(tide_recorder *recorder, tide_device *device,
                                                   tide_stream stream, tide_scope_times **ret_times,
                                                   tide_error *error);

/* From now on scopes are timed only to the depth at which the events of the scopes of the last
 * collection would take no more than `share` of span_ns: all, or steps, phases and layers, or steps
 * and phases, which always are. Never deeper than before. */
void tide_scope_times_limit(tide_scope_times *times, int64_t span_ns, double share);

/* After a synchronisation of the device: gives the scopes that have ended their times, by the first
 * anchor alone, and uses their events again. Returns what went wrong since the last call: after a
 * failure no further scope is timed. */
TIDE_NODISCARD tide_status tide_scope_times_collect(tide_scope_times *times, tide_error *error);

/* Waits for the device, collects, takes the second anchor, corrects every time given so far, and
 * states the uncertainty. Scopes that end later are timed by the first anchor, uncorrected. Once.
 */
TIDE_NODISCARD tide_status tide_scope_times_finish(tide_scope_times *times, tide_error *error);

/* Detaches; scopes that were not collected keep no times. Any thread, when the owner is done. NULL
 * is allowed. */
void tide_scope_times_destroy(tide_scope_times *times);

#ifdef __cplusplus
}
#endif

#endif
