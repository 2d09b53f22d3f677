/* common_line.h - the line of the program below which a set of blocks was allocated.
 *
 * Blocks that one call made often come from many inner lines: 53 lines of a model, all below one
 * line of an evaluation. The deepest line below which most of the bytes were allocated names them.
 */
#ifndef TIDE_SNAPSHOT_COMMON_LINE_H
#define TIDE_SNAPSHOT_COMMON_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/block_lines.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The line of a set of blocks. */
typedef struct tide_common_line {
    uint32_t node; /* of the stack tree; TIDE_NONE: no line has the share */
    double share;  /* of the bytes that were allocated below it, 0 to 1 */
} tide_common_line;

/* The deepest line with at least `share` of the bytes of the lifetimes with these indices. */
TIDE_NODISCARD tide_status tide_common_line_find(const tide_block_lines *lines,
                                                 const tide_lifetimes *lifetimes,
                                                 const uint32_t *blocks, size_t n_blocks,
                                                 double share, tide_common_line *ret_line);

#ifdef __cplusplus
}
#endif

#endif
