/* walk_internal.h - the state of a backward walk through the events of one device.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_WALK_INTERNAL_H
#define TIDE_SNAPSHOT_PYTORCH_WALK_INTERNAL_H

#include "snapshot/document/point_set_friend.h"
#include "snapshot/pytorch/internal.h"

/* A block in use. Rows are the import's; SIZE_MAX: none. */
typedef struct tide_pytorch_block {
    uint64_t address;
    uint64_t requested_bytes;
    uint64_t block_bytes; /* 0: not known yet */
    uint64_t next;        /* lowest block or wall after it while it was in use; UINT64_MAX */
    size_t requested_row; /* the row that requested its free, or was the whole free */
    size_t completed_row; /* the row that completed its free */
    size_t end_block;     /* its row in the blocks of the dump; SIZE_MAX */
    uint32_t stack;       /* of the allocation; TIDE_NONE: unknown */
    uint32_t name;        /* TIDE_NONE */
    uint8_t state;        /* tide_block_state */
    uint8_t category;     /* tide_category */
} tide_pytorch_block;

/* Addresses [begin, end) that were mapped at some time. */
typedef struct tide_pytorch_range {
    uint64_t begin, end;
} tide_pytorch_range;

typedef struct tide_pytorch_walk_state {
    tide_pytorch_import *in; /* borrowed */
    uint8_t device;
    tide_arena arena; /* all arrays */
    uint64_t *points; /* every address of the device, ascending, each once */
    size_t n_points;
    uint32_t *block_at;         /* at each point: the block in use there, TIDE_NONE */
    uint32_t *segment_at;       /* at each point: the segment that begins there, TIDE_NONE */
    uint32_t *n_ends;           /* at each point: segments that end there */
    tide_point_set walls;       /* points where any of the three is set */
    tide_pytorch_block *blocks; /* in use or reusable */
    size_t n_blocks;
    size_t free_block;          /* the first reusable one, + 1; the next: its end_block; 0: none */
    tide_segment_row *segments; /* allocated in one piece, not expandable */
    size_t n_segments;
    tide_pytorch_range *ranges; /* expandable, ascending, without overlap */
    size_t n_ranges;
} tide_pytorch_walk_state;

/* Allocates the arrays, all empty but points and ranges. */
TIDE_NODISCARD tide_status tide_pytorch_walk_prepare(tide_pytorch_walk_state *w);
/* Adds the remaining segments and blocks to the import's start. */
TIDE_NODISCARD tide_status tide_pytorch_walk_start(tide_pytorch_walk_state *w);

#endif
