/* ends.h - how the blocks of each place of a program ended: a backward pass freed them, as it does
 * with the graph that it consumes, or something else did.
 */
#ifndef TIDE_SNAPSHOT_CAUSES_ENDS_H
#define TIDE_SNAPSHOT_CAUSES_ENDS_H

#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"

/* Bits. A block that is alive when a request fails, or when the recording stops before the program
 * ends, has none: a backward pass might have followed. */
enum { TIDE_END_ELSEWHERE = 1, TIDE_END_BACKWARD = 2 };

typedef struct tide_cause_ends {
    const tide_facts *facts; /* borrowed */
    tide_map of_place;       /* place -> bits of all its blocks */
    bool has_backward;       /* a backward pass freed some block of a place */
} tide_cause_ends;

/* Of all blocks of the device that pass the test. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_cause_ends_init(tide_cause_ends *ends, const tide_facts *facts,
                                                tide_cause_test *test);
void tide_cause_ends_fini(tide_cause_ends *ends);

/* The bits of the block's place. */
unsigned tide_cause_ends_of(const tide_cause_ends *ends, const tide_lifetime *block);

#endif
