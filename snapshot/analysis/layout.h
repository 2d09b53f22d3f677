/* layout.h - how the reserved memory of one device was divided at one instant: its segments, the
 * blocks in them and the gaps between these, and an account of every reserved byte.
 *
 * Derived from start and events alone. A recording may contradict itself, for example after its log
 * lost rows; bytes that fit nowhere are shown as unexplained.
 */
#ifndef TIDE_SNAPSHOT_LAYOUT_H
#define TIDE_SNAPSHOT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block or a gap; pieces fill their segment. */
typedef struct tide_layout_piece {
    uint64_t address;  /* of its first byte */
    uint64_t n_bytes;  /* at least 1 */
    uint32_t lifetime; /* index in the lifetimes; TIDE_NONE: free */
    bool is_pending;   /* its free is requested, another stream still uses it */
} tide_layout_piece;

/* A segment, or of expandable ones a run of mapped memory. */
typedef struct tide_layout_segment {
    uint64_t address;          /* of its first byte */
    uint64_t total_bytes;      /* at least 1 */
    uint64_t cached_bytes;     /* of its free pieces */
    uint64_t releasable_bytes; /* of these, what the device would get back if the cache was emptied:
                                  a segment without blocks, whole granules of an expandable one */
    size_t first_piece;        /* index in the pieces */
    size_t n_pieces;           /* at least 1 */
    uint32_t pool_id[2];       /* of a private pool: {n, 0} a graph's, {0, n} the user's; 0, 0: the
                                  default pool, or not known */
    uint8_t stream;            /* index in the table of streams */
    uint8_t pool;              /* tide_segment_pool; by its blocks where the file does not say */
    bool is_expandable;        /* memory mapped into reserved addresses */
} tide_layout_segment;

/* Where the reserved bytes are. reserved = asked + rounding + unsplit + pending + splittable +
 * releasable + unexplained. */
typedef struct tide_account {
    int64_t asked_bytes;       /* of allocated blocks: what was asked for */
    int64_t rounding_bytes;    /* what rounding up to 512 adds */
    int64_t unsplit_bytes;     /* the rest of the whole blocks */
    int64_t pending_bytes;     /* whole blocks whose free waits for another stream */
    int64_t splittable_bytes;  /* cached in segments that blocks hold: only for requests that fit */
    int64_t releasable_bytes;  /* cached, and the device's again if the cache is emptied */
    int64_t unexplained_bytes; /* of either sign; 0 unless the recording contradicts itself */
    int64_t reserved_bytes;    /* the sum */
} tide_account;

typedef struct tide_layout {
    const tide_hostmem *mem;       /* borrowed */
    tide_layout_segment *segments; /* owned; by address */
    size_t n_segments;
    tide_layout_piece *pieces; /* owned; by address */
    size_t n_pieces;
    tide_account account;
} tide_layout;

/* The caller finishes it. TIDE_LIMIT: bytes beyond 2^63 - 1. */
TIDE_NODISCARD tide_status tide_layout_init(tide_layout *layout, const tide_snapshot *snapshot,
                                            const tide_lifetimes *lifetimes, const tide_instant *at,
                                            tide_error *error);
void tide_layout_fini(tide_layout *layout);

/* Divides the bytes of one allocated block: adds to asked, rounding and unsplit. */
void tide_account_add_block(tide_account *account, const tide_lifetime *lifetime);

#ifdef __cplusplus
}
#endif

#endif
