/* kernel_trace.h - which kernels a GPU ran for the scopes of a thread, how often and how long, by
 * CUPTI (the CUDA toolkit's library for tools), which is opened when the trace is created.
 *
 * While the trace is on, every kernel that the thread launches is counted to its innermost scope:
 * one row for each kernel and place, where a place is the path of scopes without steps and without
 * the numbers of layers ("forward > layer > attention"). The rows are part of the recording.
 *
 * Tracing costs time on the host with every launch: times of phases taken meanwhile hold that, too.
 * CUPTI serves one tool in a process: not beside Nsight Systems. Of the thread that creates it; one
 * at a time in a process.
 */
#ifndef TIDE_RECORDER_KERNEL_TRACE_H
#define TIDE_RECORDER_KERNEL_TRACE_H

#include "recorder/recorder.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_kernel_trace tide_kernel_trace;

/* Opens CUPTI; nothing is traced yet. TIDE_UNSUPPORTED where there is none, TIDE_INVALID when there
 * is a trace already. The recorder is borrowed and outlives it. */
TIDE_NODISCARD tide_status tide_kernel_trace_create(tide_recorder *recorder,
                                                    tide_kernel_trace **ret_trace,
                                                    tide_error *error);
/* From here on kernels are traced; outside every scope of the thread. */
TIDE_NODISCARD tide_status tide_kernel_trace_begin(tide_kernel_trace *trace, tide_error *error);
/* After a synchronisation of the device, while it is on: adds what was traced to the recording. */
TIDE_NODISCARD tide_status tide_kernel_trace_collect(tide_kernel_trace *trace, tide_error *error);
/* The same, and kernels are no longer traced; outside every scope, and nothing when it is off. */
TIDE_NODISCARD tide_status tide_kernel_trace_end(tide_kernel_trace *trace, tide_error *error);
/* Ends it; NULL is allowed. */
void tide_kernel_trace_destroy(tide_kernel_trace *trace);

#ifdef __cplusplus
}
#endif

#endif
