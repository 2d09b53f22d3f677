/* scope_times.h - measures when the device did the work of a scope.
 *
 * The host only submits work, and the device does it later. So each scope that the thread opens
 * while this object is attached records a device event where it begins and one where it ends. After
 * a synchronisation, the times between events become the device begin and duration of the scope.
 *
 * The device's clock is related to the recorder's by two anchors, one when the object is created
 * and one when it is finished. For an anchor, an event is recorded on the idle device and waited
 * for, so its time is between two readings of the host's clock; the narrowest of several tries
 * counts. Between the anchors, the device's clock is assumed to run at a constant rate. The
 * recording states the remaining uncertainty in ns.
 *
 * If a scope begins or ends directly after another one, with nothing submitted in between, both
 * share one event. The cost of an event is measured when the object is created, so a caller with
 * short steps can omit scopes whose events would cost too much (tide_scope_times_limit).
 *
 * The object belongs to the thread that creates it, except where noted. A recorder can have one at
 * a time.
 */
#ifndef TIDE_RECORDER_SCOPE_TIMES_H
#define TIDE_RECORDER_SCOPE_TIMES_H

#include <stdint.h>

#include "common/status.h"
#include "device/device.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The resolution of GPU events according to the CUDA runtime's documentation of
 * cudaEventElapsedTime. Part of the stated uncertainty. */
#define TIDE_EVENT_RESOLUTION_NS 500

typedef struct tide_scope_times tide_scope_times;

/* Waits for the device, takes the first anchor, and times the calling thread's scopes from now on.
 * TIDE_INVALID if the recorder already has such an object. Device and recorder are borrowed and
 * outlive the object. */
TIDE_NODISCARD tide_status tide_scope_times_create(tide_recorder *recorder, tide_device *device,
                                                   tide_stream stream, tide_scope_times **ret_times,
                                                   tide_error *error);

/* From now on, times scopes only to the depth at which the events of the last collection cost at
 * most `share` of span_ns: all scopes; or steps, phases and layers; or steps and phases, which are
 * always timed. The depth never grows again. */
void tide_scope_times_limit(tide_scope_times *times, int64_t span_ns, double share);
/* Scopes that begin while it is paused get no times, as in a captured step, whose events have none.
 * Call it in pairs, inside one scope. NULL does nothing. */
void tide_scope_times_pause(tide_scope_times *times, bool is_paused);

/* Call it after synchronising the device. Sets the times of the scopes that have ended, based on
 * the first anchor only, and frees their events for reuse. Returns the first failure since the last
 * call; after a failure, no further scope is timed. */
TIDE_NODISCARD tide_status tide_scope_times_collect(tide_scope_times *times, tide_error *error);

/* Waits for the device, collects, takes the second anchor, corrects all times set so far, and
 * states the uncertainty. Call it once. Scopes that end later get uncorrected times. */
TIDE_NODISCARD tide_status tide_scope_times_finish(tide_scope_times *times, tide_error *error);

/* Detaches from the recorder. Scopes that were not collected get no times. Any thread may call it
 * once the owner is done. NULL is allowed. */
void tide_scope_times_destroy(tide_scope_times *times);

#ifdef __cplusplus
}
#endif

#endif
