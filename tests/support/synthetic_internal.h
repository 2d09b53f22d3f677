/* synthetic_internal.h - the state while a synthetic snapshot is made: synthetic.c makes the rows
 * of the run, synthetic_document.c the snapshot that contains them.
 */
#ifndef TIDE_TESTS_SUPPORT_SYNTHETIC_INTERNAL_H
#define TIDE_TESTS_SUPPORT_SYNTHETIC_INTERNAL_H

#include "common/map.h"
#include "common/text/strings.h"
#include "support/synthetic.h"

enum { SYNTHETIC_MODEL_WIDTH = 768 };

/* A block that exists, whether it is allocated or cached. */
typedef struct synthetic_block {
    uint64_t address, requested_bytes, block_bytes;
    uint32_t stack, scope, name;
    uint8_t state, category;
    size_t segment;
} synthetic_block;

typedef struct synthetic_segment {
    uint64_t address, total_bytes, used_bytes;
} synthetic_segment;

/* An array that grows. */
typedef struct synthetic_rows {
    void *items;
    size_t n, capacity;
} synthetic_rows;

typedef struct synthetic_maker {
    synthetic_config config;
    const tide_hostmem *mem;
    uint64_t random;
    int64_t now_ns;
    uint64_t next_address;
    uint64_t reserved_bytes;
    bool stopped; /* enough events, or out of memory */
    bool failed;  /* the host has no memory */
    uint32_t scope;
    synthetic_rows events, scopes, frames, stacks, blocks, segments;
    tide_strings strings;
    tide_map free_by_size; /* block bytes -> last freed block + 1; a list through next_free */
    synthetic_rows next_free;
    tide_map stack_by_path; /* parent and frame -> stack + 1 */
    uint32_t outer[3];      /* stack nodes of main, run and step */
} synthetic_maker;

/* A snapshot with copies of all rows made so far. NULL when there is no memory. The caller destroys
 * it. */
tide_snapshot *synthetic_document(synthetic_maker *m);

#endif
