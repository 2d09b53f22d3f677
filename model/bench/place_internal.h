/* place_internal.h - the place where benchmarks of a device measure: the device with its operators,
 * a cache for their memory, and the flush of its caches.
 */
#ifndef TIDE_MODEL_BENCH_PLACE_INTERNAL_H
#define TIDE_MODEL_BENCH_PLACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "allocator/cache.h"
#include "model/bench/bench.h"
#include "common/status.h"
#include "device/device.h"
#include "model/ops.h"
#include "model/workload/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_bench_place {
    tide_bench_run *run;     /* borrowed */
    tide_device *device;     /* owned */
    tide_cache *cache;       /* owned */
    tide_ops *ops;           /* owned */
    tide_tensor workspace;   /* owned; of matrix products */
    tide_timing_flush flush; /* owned */
    bool flushes;            /* between samples */
    bool is_cpu;             /* the device */
} tide_bench_place;

/* "fp32", "tf32", "bf16", "int8" (bf16 but for the weights): the precision of its products. */
tide_precision tide_bench_precision(const char *dtype);

/* The device of the settings, for a type. Notes the environment in the run. TIDE_INVALID if the
 * device does not compute the type. The caller closes it in any case. */
TIDE_NODISCARD tide_status tide_bench_place_open(tide_bench_place *place, tide_bench_run *run,
                                                 const char *dtype, bool flushes,
                                                 tide_error *error);
void tide_bench_place_close(tide_bench_place *place);

/* Takes the samples that the settings request, of n_calls each. The caller calls fini. */
TIDE_NODISCARD tide_status tide_bench_place_measure(const tide_bench_place *place,
                                                    const tide_timing_subject *subject,
                                                    size_t n_calls, tide_timing *ret_timing,
                                                    tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
