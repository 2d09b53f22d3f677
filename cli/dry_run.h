/* dry_run.h - a run on the virtual device that nobody records: does it fit, and what does it take?
 *
 * Milliseconds each, with the requests that the same run on the card would make: what
 * `tidemark profile` says of it, this says too.
 */
#ifndef TIDE_CLI_DRY_RUN_H
#define TIDE_CLI_DRY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/status.h"
#include "model/workload.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Steps of a run that is asked about, none of them warm-up: as many as `tidemark profile` takes
 * where nothing is said. The second is the first with the optimizer state; the reserved bytes of
 * PyTorch's eager runs grow after it, too, as fragments pile up. */
enum { TIDE_DRY_RUN_STEPS = 15 };

/* What a run has to fit. */
typedef struct tide_dry_room {
    const char *device;      /* borrowed: "virtual" or "virtual:CARD" */
    uint64_t capacity_bytes; /* 0: the card's; UINT64_MAX: unlimited */
    tide_cache_config cache; /* settings, with the memory limit */
} tide_dry_room;

/* How a run went. */
typedef struct tide_dry_run {
    bool fits;                    /* to the last step */
    uint64_t requested_bytes;     /* peaks, of a run that does not fit up to where it ended */
    uint64_t allocated_bytes;     /* whole blocks */
    uint64_t reserved_bytes;      /* whole segments */
    uint64_t n_retries;           /* times the cache gave all cached segments back to go on */
    tide_cache_oom out_of_memory; /* how things stood; unless it fits */
} tide_dry_run;

/* Runs it. TIDE_OK for a run that does not fit, too: that is an answer. */
TIDE_NODISCARD tide_status tide_dry_run_do(const tide_dry_room *room,
                                           const tide_workload_config *workload,
                                           tide_dry_run *ret_run, tide_error *error);

/* The same where nothing is short, recorded without call stacks; the room's bounds do not count.
 * The caller destroys the snapshot. */
TIDE_NODISCARD tide_status tide_dry_run_record(const tide_dry_room *room,
                                               const tide_workload_config *workload,
                                               const tide_snapshot_run *description,
                                               tide_dry_run *ret_run, tide_snapshot **ret_snapshot,
                                               tide_error *error);

/* The bytes that a cache may reserve there: the device's total less context and libraries, or the
 * memory limit where that is lower. UINT64_MAX: no bound. `ret_info` may be NULL. */
TIDE_NODISCARD tide_status tide_dry_room_usable(const tide_dry_room *room,
                                                uint64_t *ret_usable_bytes,
                                                tide_device_info *ret_info, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
