/* timeline.h - the blocks of a run as a plan sees them, and a walk over their lifetimes in which
 * each counts only a share of its bytes.
 *
 *     snapshot of a run ──> blocks: bytes, category, phase, module ──> shares of a change
 *                                                                          │
 *                     lowest peak that the change could reach  <── walk ───┘
 *
 * A walk is not additive, as peaks are not: with smaller blocks the peak is elsewhere. With all
 * shares 1 it gives the recorded peak of the allocated bytes, to the byte.
 */
#ifndef TIDE_PROGRAMS_PLAN_TIMELINE_H
#define TIDE_PROGRAMS_PLAN_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are borrowed from the snapshot. */
typedef struct tide_plan_block {
    int64_t bytes;                         /* of the whole block */
    int64_t requested_bytes;               /* what was asked for */
    int64_t step;                          /* index of its step; -1: outside */
    const char *phase, *layer, *operation; /* innermost scope of each kind; "" outside */
    uint32_t born, died; /* places in the walk; `died` is the number of places if it lives on */
    uint32_t stack;      /* of its allocation; TIDE_NONE */
    uint32_t node;       /* row of the innermost operation's scope; TIDE_NONE outside */
    uint8_t category;    /* tide_category */
} tide_plan_block;

typedef struct tide_plan_timeline {
    const tide_hostmem *mem;       /* borrowed */
    const tide_snapshot *snapshot; /* borrowed; outlives the timeline */
    size_t device;                 /* with the highest peak */
    tide_plan_block *blocks;       /* owned; in order of birth */
    size_t n_blocks;
    uint32_t *places; /* owned; the block that is allocated or freed at each place of the walk */
    size_t n_places;
} tide_plan_timeline;

/* A block that is computed again is whole at some places of the walk. */
typedef struct tide_plan_again {
    uint32_t from, to; /* the first, and the one after the last: within its lifetime; both TIDE_NONE
                          if it is never whole */
} tide_plan_again;

/* Where that begins or ends. */
typedef struct tide_plan_turn {
    uint32_t place, block;
} tide_plan_turn;

/* The most changes of a walk. */
enum { TIDE_PLAN_TOGETHER = 40 };

/* What a change leaves of each block. Several of the changes that are made together may compute
 * blocks again: checkpoints of different classes of modules. */
typedef struct tide_plan_shares {
    float *share;           /* owned; n_blocks, 0 to 1 */
    tide_plan_again *again; /* owned; n_blocks; NULL: no block is computed again */
    tide_plan_turn *turns;  /* owned; in order of the places; NULL as `again` */
    size_t n_turns;
} tide_plan_shares;

/* Fails as tide_lifetimes_init. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_plan_timeline_init(tide_plan_timeline *timeline,
                                                   const tide_snapshot *snapshot,
                                                   tide_error *error);
void tide_plan_timeline_fini(tide_plan_timeline *timeline);

/* Makes shares of 1. The caller calls fini, also after a failure, which is TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_plan_shares_init(tide_plan_shares *shares,
                                                 const tide_plan_timeline *timeline);
void tide_plan_shares_fini(tide_plan_shares *shares, const tide_hostmem *mem);

/* The peak of the allocated bytes if several changes are made together: their shares are
 * multiplied. `worth[i]`, 0 to 1, is the part of change i that counts: 1 for the bound. `ret_place`
 * (may be NULL) is the first place with the peak. `n` is at most TIDE_PLAN_TOGETHER; it may be 0.
 */
int64_t tide_plan_peak(const tide_plan_timeline *timeline, const tide_plan_shares *const *changes,
                       const double *worth, size_t n, size_t *ret_place);

/* Whether a function of this name is on the call stack of the block. */
bool tide_plan_is_called_by(const tide_plan_timeline *timeline, const tide_plan_block *block,
                            const char *function);

/* Whether each of these modules has a path of its own, "h.0 h.1". A module that the program calls
 * without calling its parent has only the name of its class, and paths within it are shorter. */
bool tide_plan_paths_differ(const char *paths);

/* Whether `layer` is the module at this path or is within it. */
bool tide_plan_is_within(const char *layer, const char *path, size_t n_path);

#ifdef __cplusplus
}
#endif

#endif
