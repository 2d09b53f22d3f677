/* growth.h - whether the memory of a run grows from one pass of a loop to the next: one rule for
 * all commands, for recordings of tidemark and of PyTorch.
 *
 * Looked at are the blocks that were allocated in a loop and are alive when its last pass begins,
 * grouped by the pass that made them. A loop without a forward or a backward pass counts only if it
 * filled the device: weights that are loaded and copies that are made one by one look the same. The
 * rule prefers silence to a guess; docs/guide/explain.md describes it.
 */
#ifndef TIDE_SNAPSHOT_GROWTH_H
#define TIDE_SNAPSHOT_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/block_lines.h"
#include "snapshot/explain/loops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_growth_kind {
    TIDE_GROWTH_KEEPS = 0, /* blocks of many passes survive */
    TIDE_GROWTH_REPLACES,  /* a line's tensor is made anew on each pass, larger each time */
    TIDE_GROWTH_FILLS      /* a loop without forward and backward filled the device until a request
                              failed, and freed nearly nothing */
} tide_growth_kind;

/* One loop that grows. */
typedef struct tide_growth_fact {
    tide_growth_kind kind;
    const tide_loop *loop; /* borrowed */
    bool has_forward, has_backward;
    size_t n_passes;    /* complete passes of the loop */
    size_t n_keeping;   /* passes that keep blocks; of REPLACES, all */
    size_t every;       /* blocks are kept on each of so many passes; 1: on every pass */
    int64_t bytes;      /* kept by all of these passes; of REPLACES, the growth since the first */
    int64_t rate_bytes; /* median of the passes that keep */
    uint32_t *blocks;   /* owned; indices of lifetimes, ascending */
    size_t n_blocks;
    uint32_t line;     /* node of the stack tree: the deepest line of the loop, or below it, below
                          which at least 85 % of the bytes were allocated, else 50 %; TIDE_NONE */
    double line_share; /* of the bytes, 0 to 1 */
} tide_growth_fact;

typedef struct tide_growth {
    const tide_hostmem *mem; /* borrowed */
    tide_growth_fact *facts; /* owned; most bytes first */
    size_t n_facts;
    size_t room; /* in facts */
} tide_growth;

/* What the rule reads; all borrowed. */
typedef struct tide_growth_input {
    const tide_lifetimes *lifetimes;
    const tide_loops *loops;
    const tide_block_lines *lines;
    size_t device; /* whose blocks count */
} tide_growth_input;

/* The caller calls fini, also after a failure. The input must outlive the result. */
TIDE_NODISCARD tide_status tide_growth_init(tide_growth *growth, const tide_growth_input *input);
void tide_growth_fini(tide_growth *growth);

#ifdef __cplusplus
}
#endif

#endif
