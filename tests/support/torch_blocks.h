/* torch_blocks.h - a minimal model of PyTorch's lists of blocks: how its allocator serves requests,
 * written independently of the tested code. It writes the rows that PyTorch's own trace would have.
 */
#ifndef TIDE_TESTS_SUPPORT_TORCH_BLOCKS_H
#define TIDE_TESTS_SUPPORT_TORCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

enum { TORCH_MAX_BLOCKS = 4096, TORCH_MAX_ROWS = 1 << 16 };

/* The common properties of a segment's blocks. Blocks of two places never merge. */
typedef struct torch_place {
    uint8_t device, stream;
    uint16_t pool;
    bool is_small;
} torch_place;

typedef struct torch_block {
    uint64_t address, n_bytes, requested_bytes;
    uint32_t segment;   /* number; expandable memory keeps its number as it grows */
    bool is_expandable; /* its segment is */
    uint8_t state;      /* tide_block_state */
    torch_place place;
} torch_block;

/* A row of the trace, and the size of the block, which the reader must find. */
typedef struct torch_row {
    int action;
    torch_place place;
    uint64_t address, n_bytes, block_bytes;
} torch_row;

typedef struct torch_blocks {
    uint64_t max_split_bytes;             /* UINT64_MAX: no limit */
    bool is_expandable;                   /* all segments are */
    torch_block blocks[TORCH_MAX_BLOCKS]; /* ascending */
    size_t n_blocks;
    uint32_t n_segments; /* ever */
    torch_row rows[TORCH_MAX_ROWS];
    size_t n_rows;
    size_t stops_at; /* no row follows that many; the blocks stay as they are then */
} torch_blocks;

/* All return false when no more rows may follow. */
bool torch_alloc(torch_blocks *of, torch_place place, uint64_t n_bytes, uint64_t *ret_address);
/* `has_to_wait`: another stream uses the block. It is free after torch_complete. */
bool torch_free(torch_blocks *of, uint64_t address, bool has_to_wait);
bool torch_complete(torch_blocks *of, uint64_t address);
/* Releases what is wholly free. */
bool torch_empty_cache(torch_blocks *of);

#endif
