/* reserved.h - the reserved memory of a device at one instant, by the requests that it serves: the
 * main stream, other streams, private pools.
 */
#ifndef TIDE_SNAPSHOT_RESERVED_H
#define TIDE_SNAPSHOT_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/stack_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_reserved_kind {
    TIDE_RESERVED_MAIN = 0, /* the stream with the handle 0 */
    TIDE_RESERVED_STREAMS,  /* other streams */
    TIDE_RESERVED_POOLS,    /* private pools of CUDA graphs */
    TIDE_RESERVED_OWN,      /* private pools that the program made for other purposes */
    TIDE_N_RESERVED
} tide_reserved_kind;

typedef struct tide_reserved_part {
    int64_t total_bytes;
    int64_t free_bytes;    /* of the total, not in allocated blocks */
    int64_t largest_bytes; /* the largest free piece */
    size_t n_pieces;       /* free ones */
    size_t n_owners;       /* distinct streams, or distinct pools */
    uint32_t line; /* node of the stack tree: the program's line that bought the segments with most
                      of the free bytes; TIDE_NONE */
} tide_reserved_part;

typedef struct tide_reserved {
    int64_t event;           /* row; -1: before the first */
    int64_t bytes;           /* reserved in all */
    int64_t allocated_bytes; /* of them, in allocated blocks */
    int64_t pending_bytes;   /* of them, in blocks whose free waits for another stream */
    tide_reserved_part parts[TIDE_N_RESERVED];
} tide_reserved;

/* Whether so much reserved memory held no tensor that it is worth a sentence: 15 % and 200 MiB. */
bool tide_reserved_is_spare(const tide_reserved *reserved);

/* The reserved memory after a row. TIDE_LIMIT as tide_layout_init. */
TIDE_NODISCARD tide_status tide_reserved_at(const tide_stack_facts *stacks,
                                            const tide_lifetimes *lifetimes, size_t device,
                                            int64_t event, tide_reserved *ret_reserved);

/* The row after which most memory of the device is reserved, and of these the row with most
 * allocated; -1: before the first. TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_reserved_most(const tide_stack_facts *stacks,
                                              const tide_lifetimes *lifetimes, size_t device,
                                              int64_t *ret_event);

#ifdef __cplusplus
}
#endif

#endif
