/* kernel_trace.h - the kernels that a GPU ran for the scopes of a thread, how often and for how
 * long.
 *
 * The data comes from CUPTI, the CUDA toolkit's library for tools, which is opened when a trace is
 * created. While the trace is on, every kernel that the thread launches counts for its innermost
 * open scope. There is one row for each kernel and place; a place is the path of scopes without
 * steps and without the numbers of layers ("forward > layer > attention"). The rows are part of the
 * recording.
 *
 * Tracing costs host time for every launch, and times of phases measured meanwhile include it.
 * CUPTI serves one tool per process, so this does not work under Nsight Systems. A trace belongs to
 * the thread that creates it. A process can have one at a time.
 */
#ifndef TIDE_RECORDER_KERNEL_TRACE_H
#define TIDE_RECORDER_KERNEL_TRACE_H

#include "common/status.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_kernel_trace tide_kernel_trace;

/* Opens CUPTI; nothing is traced yet. TIDE_UNSUPPORTED if CUPTI was not found. TIDE_INVALID if the
 * process already has a trace. The recorder is borrowed and outlives the trace. */
TIDE_NODISCARD tide_status tide_kernel_trace_create(tide_recorder *recorder,
                                                    tide_kernel_trace **ret_trace,
                                                    tide_error *error);
/* Traces kernels from now on. Call it outside every scope of the thread. */
TIDE_NODISCARD tide_status tide_kernel_trace_begin(tide_kernel_trace *trace, tide_error *error);
/* Adds the traced kernels to the recording. Call it after synchronising the device. */
TIDE_NODISCARD tide_status tide_kernel_trace_collect(tide_kernel_trace *trace, tide_error *error);
/* Does the same and stops tracing. Call it outside every scope. Does nothing when tracing is off.
 */
TIDE_NODISCARD tide_status tide_kernel_trace_end(tide_kernel_trace *trace, tide_error *error);
/* Also ends the trace. NULL is allowed. */
void tide_kernel_trace_destroy(tide_kernel_trace *trace);

#ifdef __cplusplus
}
#endif

#endif
