/* block_ends.h - how far each large block could reach when it was made, for a log whose
 * rows do not say how large blocks are (programs/live/).
 *
 * PyTorch leaves up to a MiB of a free block with a request of more than a MiB: whether it did
 * follows from the distance to the next block in use. The base keeps blocks longer than their
 * neighbours, so that distance must be taken down when the row goes to the base. Smaller requests
 * need none of this, and lie in segments of their own.
 */
#ifndef TIDE_RECORDER_BLOCK_ENDS_H
#define TIDE_RECORDER_BLOCK_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

enum { TIDE_BLOCK_ENDS_LARGE = 1 << 20 }; /* requests above it; the same limit as in PyTorch */

/* The large blocks that are in use. Zeros: none. */
typedef struct tide_block_ends {
    uint64_t *addresses; /* owned; ascending */
    size_t n;
    size_t capacity;
} tide_block_ends;

void tide_block_ends_fini(tide_block_ends *of, const tide_hostmem *mem);

/* Enters the block at the address, which may be there already, and returns the bytes from there to
 * the next block; UINT64_MAX: there is none. */
TIDE_NODISCARD tide_status tide_block_ends_add(tide_block_ends *of, const tide_hostmem *mem,
                                               uint64_t address, uint64_t *ret_bytes);

/* Does nothing where no block is. */
void tide_block_ends_remove(tide_block_ends *of, uint64_t address);

#endif
