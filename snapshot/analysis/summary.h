/* summary.h - the memory figures of a snapshot: its peak with the blocks allocated at that time,
 * its maxima and its end. All of them follow from start and events alone.
 */
#ifndef TIDE_SNAPSHOT_SUMMARY_H
#define TIDE_SNAPSHOT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/event.h"
#include "common/status.h"
#include "snapshot/analysis/layout.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks alive at the peak that have something in common. */
typedef struct tide_share {
    const char *label; /* category's name or scope path; "" for a stack and outside every scope */
    uint32_t key;  /* category, stack, or number of the path; TIDE_NONE: no stack, outside scopes */
    int64_t bytes; /* whole blocks */
    int64_t requested_bytes; /* of the same blocks */
    int64_t n_blocks;
    const char *largest_name; /* of the largest block, the first on ties; "" */
    int64_t largest_bytes;    /* of that block */
} tide_share;

/* Shares, largest first (by_category: by number, all categories of the snapshot; by_certainty: by
 * number). Their bytes add up to the peak's allocated bytes. */
typedef struct tide_split {
    const tide_share *shares; /* in the summary's arena */
    size_t n_shares;
} tide_split;

/* The instant with most allocated bytes, or the instant of the caller. */
typedef struct tide_summary_peak {
    int64_t event;          /* the peak is after this row; -1: before the first */
    int64_t time_ns;        /* of that row; -1 */
    int64_t step;           /* number of its step; -1: outside */
    const char *step_name;  /* "step", "warmup"; "" outside */
    const char *phase;      /* "" outside */
    const char *scope_path; /* of that row; "" outside */
    tide_totals totals;
    tide_account account; /* of the reserved bytes; its asked, rounding and unsplit bytes add up to
                             the allocated ones */
    tide_split by_category, by_phase, by_scope, by_stack;
    tide_split by_certainty;     /* of the categories; no shares: unknown */
    const tide_lifetime *blocks; /* alive, largest first; ties by birth */
    size_t n_blocks;
} tide_summary_peak;

typedef struct tide_summary_device {
    int64_t counts[TIDE_N_ACTIONS]; /* rows per action */
    int64_t n_unmatched;            /* frees without their block, allocs on top of a live one */
    tide_extreme max[TIDE_N_MAX];
    tide_summary_peak peak;
    tide_totals end;             /* after the last event */
    int64_t n_oom;               /* oom rows */
    int64_t oom_event;           /* the first; -1: none */
    int64_t oom_requested_bytes; /* of that request */
    int64_t oom_free_bytes;      /* on the device at that time; -1: unlimited, or no such row */
    bool is_pinned;              /* memory of the host */
} tide_summary_device;

typedef struct tide_summary {
    tide_arena arena;                   /* everything the pointers below point to */
    const tide_summary_device *devices; /* in the snapshot's order */
    size_t n_devices;
    uint64_t n_dropped; /* events the log lost: the figures may be too low */
} tide_summary;

/* Texts are borrowed from the snapshot, which must outlive the summary; the caller destroys it.
 * TIDE_LIMIT: bytes beyond 2^63 - 1. */
TIDE_NODISCARD tide_status tide_summary_create(const tide_snapshot *snapshot,
                                               tide_summary **ret_summary, tide_error *error);

/* The same from lifetimes of the snapshot, which may be released after the call. With `at`, the
 * peak of that device is that instant instead. */
TIDE_NODISCARD tide_status tide_summary_create_from(const tide_snapshot *snapshot,
                                                    const tide_lifetimes *lifetimes,
                                                    const tide_instant *at,
                                                    tide_summary **ret_summary, tide_error *error);
void tide_summary_destroy(tide_summary *summary);

/* The free bytes of the device at an oom row; -1: unlimited. */
int64_t tide_oom_free_bytes(const tide_event *event);

/* The words after the free bytes in a report of an oom: the device may have had more free than the
 * request, because the allocator gets whole segments. ", too little for a new segment", ", and yet
 * it gave out no more", or "". */
const char *tide_oom_why_not(const tide_snapshot *snapshot, int64_t requested_bytes,
                             int64_t free_bytes);

/* The device with the highest peak, for reports about one device. 0 if there is none. */
size_t tide_summary_main_device(const tide_summary *summary);

#ifdef __cplusplus
}
#endif

#endif
