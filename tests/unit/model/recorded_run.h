/* recorded_run.h - one recorded run of a workload on a device, for tests of the model, and queries
 * about it. A failure ends the test.
 */
#ifndef TIDE_TESTS_RECORDED_RUN_H
#define TIDE_TESTS_RECORDED_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "device/device.h"
#include "model/workload/workload.h"
#include "recorder/recorder.h"

typedef struct recorded_run {
    tide_device *device; /* all owned */
    tide_recorder *recorder;
    tide_cache *cache;
    tide_workload_result result; /* samples of the run */
    tide_cache_state state;      /* after the run, before any of its memory was released */
} recorded_run;

/* Runs it; `expected` is what tide_workload_run must return. `limit_bytes`: reserved bytes at most.
 */
void recorded_run_start(recorded_run *run, const char *device, const tide_workload_config *config,
                        size_t limit_bytes, tide_status expected);
/* One run per device, all started by the same call, to make their stacks comparable. */
void recorded_runs_start(recorded_run *runs, const char *const *devices, size_t n_runs,
                         const tide_workload_config *config);
void recorded_run_end(recorded_run *run);

/* "step 0/forward/layer 1/attention" of a scope, "" for none. */
enum { SCOPE_PATH = 160 };
void scope_path(const tide_recording *recording, uint32_t scope, char path[SCOPE_PATH]);

/* Index of the n-th event (0: first) with this action and name, or n_events. */
size_t find_event(const tide_recording *recording, tide_action action, const char *name, size_t n);

/* A shape small enough to compute and with no two dimensions alike: V 97, C 24, F 56, L 2, H 3,
 * T 10, B 2. */
tide_model_config tiny_model(void);

#endif
