/* scope_times_internal.h - how scopes are passed to the object that times them, and its times to
 * the recording. */
#ifndef TIDE_RECORDER_SCOPE_TIMES_INTERNAL_H
#define TIDE_RECORDER_SCOPE_TIMES_INTERNAL_H

#include "recorder/scope_times.h"

/* The recorder calls these on the thread whose scopes are timed, outside its locks. They cannot
 * report a failure: the next collection returns it. `end` also ends every scope that is open
 * inside. */
void tide_scope_times_begin(tide_scope_times *times, tide_scope scope, tide_scope_kind kind);
void tide_scope_times_end(tide_scope_times *times, tide_scope scope);

/* Attaches the object to the calling thread's scopes. *ret_first is the number that the next scope
 * will have. TIDE_INVALID if another object is attached. TIDE_NO_MEMORY without memory for the
 * thread's state. */
TIDE_NODISCARD tide_status tide_recorder_attach_times(tide_recorder *recorder,
                                                      tide_scope_times *times,
                                                      tide_scope *ret_first);
void tide_recorder_detach_times(tide_recorder *recorder);

/* Sets the device times of a scope, on the recorder's clock. A begin before time 0 becomes 0. */
void tide_recorder_set_device_time(tide_recorder *recorder, tide_scope scope, int64_t begin_ns,
                                   int64_t duration_ns);
/* Corrects the device times of all scopes from `first` on: a begin of origin_ns + x becomes
 * origin_ns + x * factor, and durations are multiplied by factor. Raises the stated uncertainty of
 * the recording to uncertainty_ns if it was lower. */
void tide_recorder_correct_device_times(tide_recorder *recorder, tide_scope first,
                                        int64_t origin_ns, double factor, int64_t uncertainty_ns);

#endif
