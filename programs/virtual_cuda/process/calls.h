/* calls.h - the calls of memory pools, recorded in the run's folder (common/run_calls.h).
 *
 * Not thread-safe: the lock of the pools guards it, so that rows are in the order of what they
 * tell.
 */
#ifndef TIDE_VIRTUAL_CUDA_CALLS_H
#define TIDE_VIRTUAL_CUDA_CALLS_H

#include "common/run_calls.h"

/* Adds a row; its time is filled in. Without a run's folder nothing happens. */
void tide_vc_call_add(tide_run_call call);

/* The child of a fork has a file of its own. */
void tide_vc_calls_forget(void);

#endif
