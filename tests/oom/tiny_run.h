/* tiny_run.h - a whole run that takes milliseconds, from the device to the file and back, whose
 * host allocations, device calls and calls of the system can be made to fail.
 */
#ifndef TIDE_TESTS_TINY_RUN_H
#define TIDE_TESTS_TINY_RUN_H

#include <stdbool.h>

#include "capture/capture.h"
#include "model/workload/workload.h"
#include "support/device_fault.h"
#include "support/hostmem_fault.h"
#include "support/system_fault.h"

/* One run, and the call of it that fails. */
typedef struct tiny_run {
    tide_hostmem_fault heap;
    tide_device_fault device;
    tide_system_fault system; /* in use from init to end, fails calls up to the end of go */
    tide_device *inner;       /* owned */
    tide_recorder *recorder;  /* owned */
    tide_cache *cache;        /* owned */
    tide_workload *workload;  /* owned */
    bool captures_stacks;
    bool is_expandable; /* whether its segments are */
    const char *spec;   /* of the inner device */
    const char *path;   /* borrowed; of the snapshot that it writes */
    tide_error error;   /* of the call that failed first */
} tiny_run;

/* The configuration of every run: one training step of two layers. */
tide_workload_config tiny_run_config(void);

/* One step of the run's workload. */
tide_status tiny_run_train(tiny_run *on);

/* Writes a snapshot of the run to its path. */
tide_status tiny_run_save(tiny_run *on, tide_error *error);

/* Creates everything, trains, uses a stream, writes the file, loads it and empties the cache; stops
 * at the first failure. */
tide_status tiny_run_go(tiny_run *on);

#endif
