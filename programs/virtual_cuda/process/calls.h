/* calls.h - the calls of memory pools, recorded in the run's folder (programs/wire/run_calls.h).
 *
 * Not thread-safe: the lock of the pools guards it, so rows are in the order of the calls.
 */
#ifndef TIDE_VIRTUAL_CUDA_CALLS_H
#define TIDE_VIRTUAL_CUDA_CALLS_H

#include "programs/wire/run_calls.h"

/* Adds a row and fills in its time. Does nothing without a run's folder. */
void tide_vc_call_add(tide_run_call call);

/* Called in the child of a fork, which gets its own file. */
void tide_vc_calls_forget(void);

#endif
