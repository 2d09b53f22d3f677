/* live_walk.h - the one fold of events: follows the live blocks through a recording, event by
 * event, and passes each block and each piece of reserved memory to a sink when it ends.
 *
 * It holds only live blocks, so its memory does not grow with the events. The events may come from
 * an untrusted file: a free without a block and an alloc on top of a live block are counted as
 * unmatched, and totals stay right. lifetimes.h keeps every block that it passes on.
 */
#ifndef TIDE_SNAPSHOT_LIVE_WALK_H
#define TIDE_SNAPSHOT_LIVE_WALK_H

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

#define TIDE_WALK_NEVER INT64_MAX /* not within the recording */

/* One block. Events count from 0; -1: before the first. */
typedef struct tide_walk_block {
    uint64_t number;          /* 0, 1, ... in order of birth, those alive at the start first */
    uint64_t address;         /* of its first byte */
    uint64_t requested_bytes; /* the request */
    uint64_t block_bytes;     /* the whole block */
    int64_t born;             /* its alloc */
    int64_t freed;            /* its free was requested; TIDE_WALK_NEVER */
    int64_t completed;        /* its free was completed; TIDE_WALK_NEVER */
    int64_t born_ns, freed_ns, completed_ns; /* times of these; -1: no such event */
    uint32_t stack, scope, name;             /* of the allocation; TIDE_NONE */
    uint8_t category;                        /* tide_category, or the file's own */
    uint8_t certainty;                       /* tide_certainty */
    uint8_t device;                          /* index of the device */
    uint8_t stream;                          /* index of the stream; at the start, that of the
                                                segment */
} tide_walk_block;

/* A segment, or a piece of an expandable one, while it does not change: the rest of a piece after a
 * part was unmapped is another piece. The live pieces add up to the reserved bytes. */
typedef struct tide_walk_segment {
    uint64_t number; /* 0, 1, ... in order of birth */
    uint64_t address;
    uint64_t total_bytes;
    int64_t born, gone;       /* events; as in tide_walk_block */
    int64_t born_ns, gone_ns; /* -1: no such event */
    bool is_expandable;
    uint8_t device, stream;
} tide_walk_segment;

/* Gets blocks and pieces that end, and at the end those still alive. A failure ends the walk. */
typedef struct tide_walk_sink {
    tide_status (*block)(void *ctx, const tide_walk_block *block);       /* NULL: drops them */
    tide_status (*segment)(void *ctx, const tide_walk_segment *segment); /* NULL: segments are
                                      counted in the totals but not followed */
    void *ctx;                                                           /* borrowed */
} tide_walk_sink;

/* The figures of one device so far. */
typedef struct tide_walk_device {
    tide_totals now;
    tide_totals at_peak;            /* after the event with most allocated bytes */
    tide_extreme max[TIDE_N_MAX];   /* as in lifetimes.h */
    int64_t peak_ns;                /* time of max[TIDE_MAX_ALLOCATED].event; -1 */
    uint32_t peak_scope;            /* of that event; TIDE_NONE */
    int64_t counts[TIDE_N_ACTIONS]; /* events per action */
    int64_t n_unmatched;            /* frees without a block, allocs on top of one */
} tide_walk_device;

typedef struct tide_live_walk tide_live_walk;

/* Starts with the state before the first event. Document and sink are borrowed. The caller destroys
 * the walk. */
TIDE_NODISCARD tide_status tide_live_walk_create(const tide_snapshot *document,
                                                 const tide_walk_sink *sink,
                                                 const tide_hostmem *mem, tide_live_walk **ret_walk,
                                                 tide_error *error);
void tide_live_walk_destroy(tide_live_walk *walk);

/* Takes the next event. *ret_block: the number of its block; -1: none. */
TIDE_NODISCARD tide_status tide_live_walk_event(tide_live_walk *walk, const tide_event *event,
                                                uint8_t certainty, int64_t *ret_block,
                                                tide_error *error);

/* Passes on the blocks that are still alive, in order of birth. Nothing may follow. */
TIDE_NODISCARD tide_status tide_live_walk_finish(tide_live_walk *walk);

/* The devices of the document; valid until the walk is destroyed. */
const tide_walk_device *tide_live_walk_device(const tide_live_walk *walk, size_t device);

/* The blocks whose free is not completed, in no order; valid until the next event. */
const tide_walk_block *tide_live_walk_blocks(const tide_live_walk *walk, size_t *ret_n_blocks);

/* Counts an event about a segment in reserved_bytes and n_segments. False, without a change, if it
 * takes more than there is, or if reserved_bytes would exceed 2^63 - 1. */
bool tide_walk_count_segment(tide_totals *now, const tide_event *event);

/* The number of events taken. */
int64_t tide_live_walk_n_events(const tide_live_walk *walk);

#ifdef __cplusplus
}
#endif

#endif
