/* scope_times_internal.h - how scopes reach those who time them. */
#ifndef TIDE_RECORDER_SCOPE_TIMES_INTERNAL_H
#define TIDE_RECORDER_SCOPE_TIMES_INTERNAL_H

#include "recorder/scope_times.h"

/* Called by the recorder, outside its locks, on the thread whose scopes are timed. Never fail: what
 * goes wrong is returned by the next collect. `end` ends every scope that is open inside, too. */
void tide_scope_times_begin(tide_scope_times *times, tide_scope scope, tide_scope_kind kind);
void tide_scope_times_end(tide_scope_times *times, tide_scope scope);

/* Attaches for the calling thread's scopes; false when another one is. `ret_first`: the number of
 * the next scope. TIDE_NO_MEMORY: the thread could not be noted. */
TIDE_NODISCARD tide_status tide_recorder_attach_times(tide_recorder *recorder,
                                                      tide_scope_times *times,
                                                      tide_scope *ret_first);
void tide_recorder_detach_times(tide_recorder *recorder);

/* On the recorder's clock; a begin before time 0 is taken as 0. */
void tide_recorder_set_device_time(tide_recorder *recorder, tide_scope scope, int64_t begin_ns,
                                   int64_t duration_ns);
/* Of all scopes from `first` on that have device times: a begin of origin_ns + x becomes origin_ns
 * + x * factor, a duration is multiplied. States the uncertainty of what was recorded: the largest
 * so far. */
void tide_recorder_correct_device_times(tide_recorder *recorder, tide_scope first,
                                        int64_t origin_ns, double factor, int64_t uncertainty_ns);

#endif
