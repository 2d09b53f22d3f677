/* glance.h - the memory of a program at the end of its recording, and its trend: the figures of
 * `tidemark top`.
 */
#ifndef TIDE_LAUNCH_GLANCE_H
#define TIDE_LAUNCH_GLANCE_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Currently allocated blocks that share a property. */
typedef struct tide_glance_share {
    const char *name; /* category; or path of the innermost module that was called at the
                       * allocation, "" outside of modules */
    int certainty;    /* tide_certainty of the category; 0 of a module */
    int64_t bytes;
    int64_t n_blocks;
} tide_glance_share;

typedef struct tide_glance_device {
    tide_totals now;
    int64_t allocated_peak_bytes, reserved_peak_bytes; /* of the recording */
    int64_t growth_bytes; /* that each further step needs (peaks.h); 0 if none */
    int64_t n_failures;   /* requests that failed */
    /* Largest first; their bytes add up to the allocated ones. */
    const tide_glance_share *categories;
    size_t n_categories;
    const tide_glance_share *modules;
    size_t n_modules;
} tide_glance_device;

typedef struct tide_glance {
    tide_arena arena;
    const tide_glance_device *devices; /* in the order of the snapshot's */
    size_t n_devices;
    int64_t n_steps;          /* begun so far; 0 also if none are known */
    uint64_t n_events;        /* including those that the log has dropped */
    double events_per_second; /* in the last ten seconds of the recording; -1: too short */
    int64_t last_ns;          /* the newest event, since recording began; -1 if there is none */
} tide_glance;

/* Names are borrowed from the snapshot. The caller calls tide_glance_fini. */
TIDE_NODISCARD tide_status tide_glance_init(tide_glance *glance, const tide_snapshot *snapshot,
                                            tide_error *error);
void tide_glance_fini(tide_glance *glance);

#ifdef __cplusplus
}
#endif

#endif
