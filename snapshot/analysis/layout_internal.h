/* layout_internal.h - from the rows about segments to the segments at one instant. */
#ifndef TIDE_SNAPSHOT_LAYOUT_INTERNAL_H
#define TIDE_SNAPSHOT_LAYOUT_INTERNAL_H

#include "snapshot/analysis/layout.h"

/* Fills segments and n_segments, without pieces; the pool is TIDE_SEGMENT_UNKNOWN where no row
 * says it. The caller never has more to undo than tide_layout_fini. */
TIDE_NODISCARD tide_status tide_layout_find_segments(tide_layout *layout,
                                                     const tide_snapshot *snapshot,
                                                     const tide_instant *at);

#endif
