/* growth_internal.h - one loop while the rule of growth looks at it. */
#ifndef TIDE_SNAPSHOT_GROWTH_INTERNAL_H
#define TIDE_SNAPSHOT_GROWTH_INTERNAL_H

#include "snapshot/explain/growth.h"

/* The passes of a loop, and the blocks that were allocated in it. */
typedef struct tide_growth_look {
    const tide_growth_input *input; /* borrowed, as is the next */
    const tide_hostmem *mem;
    int64_t peak_bytes;     /* of the device */
    bool ran_out;           /* a request of the device failed */
    const tide_loop *loop;  /* borrowed */
    const uint32_t *starts; /* borrowed or equal to `merged` */
    uint32_t *merged;       /* owned; NULL: the loop's own starts */
    size_t n_passes;        /* complete ones; starts has one more */
    size_t first, end;      /* indices of the lifetimes that were born in the loop */
    const int64_t
        *trained; /* borrowed; when backward passes and optimizer steps begin, ascending */
    size_t n_trained;
    const uint8_t
        *in_backward; /* borrowed; of each row: the last allocation was a backward pass's */
    bool has_forward, has_backward;
    bool makes_models; /* its passes keep parameters: gradients are theirs */
} tide_growth_look;

/* The row at which the last pass begins: the instant that the rule looks at. */
static inline uint32_t tide_growth_instant(const tide_growth_look *look) {
    return look->starts[look->n_passes];
}

/* Whether a block counts: state that a healthy program keeps or makes late does not. */
bool tide_growth_counts(const tide_growth_look *look, const tide_lifetime *block);

/* Whether a block was allocated in a complete pass, counts, and is alive at the instant. */
bool tide_growth_is_kept(const tide_growth_look *look, const tide_lifetime *block);

/* Sorts numbers, smallest first. */
void tide_growth_sort(int64_t *numbers, size_t n);

/* The upper median of some bytes, which it sorts; 0 of none. */
int64_t tide_growth_median(int64_t *bytes, size_t n);

/* The first lifetime that was born at or after a row. */
size_t tide_growth_first_born(const tide_lifetimes *lifetimes, size_t row);

/* The number of starts at or before a row: the pass in which it is, plus one. */
size_t tide_growth_starts_until(const tide_growth_look *look, uint32_t row);

/* Adds a fact about the loop if blocks of its passes survive, or if a line replaces its tensor by
 * a larger one. *ret_found: whether it did. */
TIDE_NODISCARD tide_status tide_growth_keeps(const tide_growth_look *look, tide_growth *to,
                                             bool *ret_found);
TIDE_NODISCARD tide_status tide_growth_replaces(const tide_growth_look *look, tide_growth *to);

/* Adds a fact with the kind, counts and bytes of `fact`; takes its blocks, also on failure. */
TIDE_NODISCARD tide_status tide_growth_add(const tide_growth_look *look, tide_growth *to,
                                           tide_growth_fact *fact);

#endif
