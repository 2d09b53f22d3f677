/* kernel_trace_internal.h - how scopes reach the trace, and the trace the recording. */
#ifndef TIDE_RECORDER_KERNEL_TRACE_INTERNAL_H
#define TIDE_RECORDER_KERNEL_TRACE_INTERNAL_H

#include "recorder/kernel_trace.h"

/* Called by the recorder, outside its locks, on the thread that is traced. Never fail: what goes
 * wrong is returned by the next collection. `pop` ends every scope that is open inside, too. */
void tide_kernel_trace_push(tide_kernel_trace *trace, tide_scope scope);
void tide_kernel_trace_pop(tide_kernel_trace *trace, tide_scope scope);

/* For the calling thread's scopes. TIDE_NO_MEMORY: the thread could not be noted. */
TIDE_NODISCARD tide_status tide_recorder_attach_trace(tide_recorder *recorder,
                                                      tide_kernel_trace *trace);
void tide_recorder_detach_trace(tide_recorder *recorder);

/* Adds one launch of kernel `name` (a number of tide_recorder_intern) in `scope` (TIDE_NONE: in
 * none). */
TIDE_NODISCARD tide_status tide_recorder_add_launch(tide_recorder *recorder, uint32_t name,
                                                    tide_scope scope, int64_t duration_ns);

#endif
