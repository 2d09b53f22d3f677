/* block_ends.h - how far each large block could reach when it was made, for a log whose rows do not
 * state the size of blocks (programs/live/).
 *
 * PyTorch leaves up to 1 MiB of a free block with a request of more than 1 MiB. Whether it did
 * follows from the distance to the next block in use. The base keeps blocks longer than their
 * neighbours, so that distance must be stored when the row moves to the base. Smaller requests do
 * not need this and have segments of their own.
 */
#ifndef TIDE_RECORDER_BLOCK_ENDS_H
#define TIDE_RECORDER_BLOCK_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

enum { TIDE_BLOCK_ENDS_LARGE = 1 << 20 }; /* requests above it; the same limit as in PyTorch */

/* The large blocks that are in use. Zero-initialised means empty. */
typedef struct tide_block_ends {
    uint64_t *addresses; /* owned; ascending */
    size_t n;
    size_t capacity;
} tide_block_ends;

void tide_block_ends_fini(tide_block_ends *of, const tide_hostmem *mem);

/* Enters the block at the address, which may be present already, and returns the bytes from there
 * to the next block; UINT64_MAX: no next block. */
TIDE_NODISCARD tide_status tide_block_ends_add(tide_block_ends *of, const tide_hostmem *mem,
                                               uint64_t address, uint64_t *ret_bytes);

/* Does nothing if no block is there. */
void tide_block_ends_remove(tide_block_ends *of, uint64_t address);

#endif
