/* lifetimes.h - derives from a snapshot's start and events the lifetime of each block, and the
 * highest and last values of the four byte totals.
 *
 * The events may come from an untrusted file: a free without a block and an alloc on top of a live
 * block are counted as unmatched and change no total wrongly.
 */
#ifndef TIDE_SNAPSHOT_LIFETIMES_H
#define TIDE_SNAPSHOT_LIFETIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_LIFETIME_FOREVER UINT32_MAX /* not freed within the recording */
#define TIDE_MAX_EVENTS (UINT32_MAX - 1) /* that lifetimes can be made of */

/* One block from its allocation to its release. Events are rows of the event table. */
typedef struct tide_lifetime {
    uint64_t address;         /* of its first byte */
    uint64_t requested_bytes; /* what was asked for */
    uint64_t block_bytes;     /* the whole block */
    uint32_t born;            /* its alloc row + 1; 0: allocated before the start */
    uint32_t
        freed; /* row that requested its free, + 1; 0: before the start; TIDE_LIFETIME_FOREVER */
    uint32_t completed;          /* row that completed its free, + 1; TIDE_LIFETIME_FOREVER */
    uint32_t stack, scope, name; /* of the allocation; TIDE_NONE */
    uint8_t category;            /* tide_category */
    uint8_t certainty;           /* tide_certainty, of the category */
    uint8_t device;              /* index of the device */
} tide_lifetime;

/* The byte totals of one device. */
typedef struct tide_totals {
    int64_t requested_bytes; /* until the free completes */
    int64_t allocated_bytes; /* whole blocks, until the free is requested */
    int64_t active_bytes;    /* whole blocks, until the free completes */
    int64_t reserved_bytes;  /* segments; of expandable ones, what is mapped */
    int64_t n_blocks;        /* allocated blocks */
    int64_t n_segments;      /* expandable ones are not counted */
} tide_totals;

/* The highest value of one total and the first event that reached it (-1: before the first). */
typedef struct tide_extreme {
    int64_t bytes; /* the total's */
    int64_t event; /* row of the event table */
} tide_extreme;

enum { TIDE_MAX_REQUESTED = 0, TIDE_MAX_ALLOCATED, TIDE_MAX_ACTIVE, TIDE_MAX_RESERVED, TIDE_N_MAX };

typedef struct tide_device_lifetimes {
    int64_t counts[TIDE_N_ACTIONS]; /* rows per action */
    int64_t n_unmatched; /* frees of blocks that were not alive, allocs on top of live ones */
    tide_extreme max[TIDE_N_MAX];
    tide_totals at_peak; /* after max[TIDE_MAX_ALLOCATED].event */
    tide_totals end;     /* after the last event */
    bool is_pinned;      /* memory of the host */
} tide_device_lifetimes;

typedef struct tide_lifetimes {
    const tide_hostmem *mem;  /* borrowed */
    tide_lifetime *lifetimes; /* owned; in order of birth */
    size_t n_lifetimes;
    tide_device_lifetimes *devices; /* owned; as many as the snapshot has */
    size_t n_devices;
} tide_lifetimes;

/* TIDE_LIMIT: more than TIDE_MAX_EVENTS events, or totals beyond 2^63 - 1. The caller finishes
 * it. */
TIDE_NODISCARD tide_status tide_lifetimes_init(tide_lifetimes *lifetimes,
                                               const tide_snapshot *snapshot,
                                               const tide_hostmem *mem, tide_error *error);
void tide_lifetimes_fini(tide_lifetimes *lifetimes);

/* The device with the highest peak, the first on ties; 0 when there is none. Pinned memory of the
 * host is never the main device. */
size_t tide_lifetimes_main_device(const tide_lifetimes *lifetimes);

/* What each of the snapshot's n_events rows adds to the allocated bytes (or blocks) of the device:
 * entry i + 1 is row i's, entry 0 the start's. The caller releases it; NULL: no memory. */
int64_t *tide_lifetimes_changes(const tide_lifetimes *lifetimes, size_t n_events, size_t device,
                                bool in_blocks);

/* True when the block is allocated (its free not yet requested) after row `event` (-1: at the
 * start). */
bool tide_lifetime_is_allocated(const tide_lifetime *lifetime, int64_t event);

/* The name that identifies a block among those of other steps and other runs: one that was read
 * from its tensor, or that the program gave it. What an operator's result is called, with its
 * shape, does not: such names are by rule. TIDE_NONE: there is none. */
uint32_t tide_lifetime_own_name(const tide_lifetime *lifetime);

/* One device after one row. */
typedef struct tide_instant {
    size_t device; /* index of the device */
    int64_t event; /* row of the event table; -1: before the first */
} tide_instant;

/* Reserved bytes and segments of that instant, as the walk counts them; sets these two only. */
void tide_lifetimes_reserved_at(const tide_snapshot *snapshot, const tide_instant *at,
                                tide_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
