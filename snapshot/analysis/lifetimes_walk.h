/* lifetimes_walk.h - makes lifetimes in a walk that the caller needs for something else as well.
 */
#ifndef TIDE_SNAPSHOT_LIFETIMES_WALK_H
#define TIDE_SNAPSHOT_LIFETIMES_WALK_H

#include "snapshot/analysis/live_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes room for all blocks of the snapshot. The caller finishes the lifetimes, unless this fails.
 */
TIDE_NODISCARD tide_status tide_lifetimes_begin(tide_lifetimes *lifetimes,
                                                const tide_snapshot *snapshot,
                                                const tide_hostmem *mem, tide_error *error);

/* Keeps a block: what the sink of the walk calls with the lifetimes as `ctx`. */
TIDE_NODISCARD tide_status tide_lifetimes_keep(void *lifetimes, const tide_walk_block *block);

/* Finishes the walk, which has taken all events, and keeps its totals. */
TIDE_NODISCARD tide_status tide_lifetimes_end(tide_lifetimes *lifetimes,
                                              const tide_snapshot *snapshot, tide_live_walk *walk);

#ifdef __cplusplus
}
#endif

#endif
