/* inferred_lines.h - the lines of the program that blocks of the backward pass probably belong to,
 * in recordings without modules.
 *
 * PyTorch's own snapshots do not record which forward call a block of the backward pass belongs to.
 * The backward pass frees activations as it goes. If the activation freed before a block and the
 * one freed after it were allocated by the same line, the block is given to that line. Sums by line
 * use this and say so; no cause and no module rests on it.
 */
#ifndef TIDE_SNAPSHOT_INFERRED_LINES_H
#define TIDE_SNAPSHOT_INFERRED_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/block_lines.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_inferred_lines {
    const tide_hostmem *mem; /* borrowed */
    uint32_t *of_row; /* owned; of each row that allocates, a node of the stack tree; TIDE_NONE.
                         NULL: nothing is inferred */
    size_t n_rows;
} tide_inferred_lines;

/* Infers the lines of a device's blocks. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_inferred_lines_init(tide_inferred_lines *inferred,
                                                    const tide_block_lines *lines,
                                                    const tide_lifetimes *lifetimes, size_t device);
void tide_inferred_lines_fini(tide_inferred_lines *inferred);

/* The node of the stack tree with the line of a block; TIDE_NONE. */
uint32_t tide_inferred_line(const tide_inferred_lines *inferred, const tide_lifetime *block);

#ifdef __cplusplus
}
#endif

#endif
