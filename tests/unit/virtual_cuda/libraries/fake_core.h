/* fake_core.h - the core of the virtual card replaced by counters, for tests of its libraries. */
#ifndef TIDE_TESTS_VIRTUAL_CUDA_FAKE_CORE_H
#define TIDE_TESTS_VIRTUAL_CUDA_FAKE_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "programs/wire/run_launches.h"
#include "programs/virtual_cuda/card/workspaces.h"

extern unsigned char card[4096]; /* addresses in here are the device's */
extern const void *touched[8];
extern size_t n_touched;
extern long n_handles;
extern int n_freed, n_written; /* calls of cudaFree for the card, and known values */
extern const char *last_inexact, *last_refused, *last_reason;
extern uint64_t last_bound;
extern const char *last_kind; /* of an area */
extern const void *last_workspace;
extern size_t last_workspace_bytes;
extern tide_vc_lent last_lent;
extern size_t copied_width, copied_height, copied_pitch;

/* Rows of the launch log, with their streams and names. */
extern tide_run_launch launches[8];
extern void *launch_streams[8];
extern const char *launch_names[8];
extern size_t n_launches;

/* Before each test. */
int forget(void **state);

#endif
