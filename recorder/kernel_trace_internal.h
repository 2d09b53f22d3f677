/* kernel_trace_internal.h - how scopes are passed to the trace, and the trace's results to the
 * recording. */
#ifndef TIDE_RECORDER_KERNEL_TRACE_INTERNAL_H
#define TIDE_RECORDER_KERNEL_TRACE_INTERNAL_H

#include "recorder/kernel_trace.h"

/* The recorder calls these on the traced thread, outside its locks. They cannot report a failure:
 * the next collection returns it. `pop` also ends every scope that is open inside. */
void tide_kernel_trace_push(tide_kernel_trace *trace, tide_scope scope);
void tide_kernel_trace_pop(tide_kernel_trace *trace, tide_scope scope);

/* Attaches the trace to the calling thread's scopes. TIDE_NO_MEMORY without memory for the thread's
 * state. */
TIDE_NODISCARD tide_status tide_recorder_attach_trace(tide_recorder *recorder,
                                                      tide_kernel_trace *trace);
void tide_recorder_detach_trace(tide_recorder *recorder);

/* Adds one launch of kernel `name`, a number from tide_recorder_intern, in `scope`. TIDE_NONE: it
 * was launched outside every scope. */
TIDE_NODISCARD tide_status tide_recorder_add_launch(tide_recorder *recorder, uint32_t name,
                                                    tide_scope scope, int64_t duration_ns);

#endif
