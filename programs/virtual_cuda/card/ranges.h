/* ranges.h - ranges of addresses in the order of their addresses: allocations, mappings, holes.
 *
 * Adding, removing and finding one takes time that grows with the logarithm of their number, so
 * that a program may keep as many as it wants. Ranges do not overlap. The caller keeps two threads
 * from the same ranges.
 */
#ifndef TIDE_VIRTUAL_CUDA_RANGES_H
#define TIDE_VIRTUAL_CUDA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* What a range is belongs to the caller, who may leave the last three empty. */
typedef struct tide_vc_range {
    uint64_t address, n_bytes; /* above 0 */
    void *owner;               /* borrowed */
    int device;
    int kind;
} tide_vc_range;

/* All zeros: no range. It lives as long as the process. */
typedef struct tide_vc_ranges {
    struct tide_vc_range_node *nodes; /* from malloc; the first is not used */
    uint32_t root;                    /* index of a node; 0: no range */
    uint32_t first_free;              /* a removed node, linked by `left`; 0: none */
    uint32_t n, room;                 /* nodes that were ever used, and that there is room for */
} tide_vc_ranges;

/* Makes room, so that the next tide_vc_ranges_add cannot fail. False: no host memory. */
bool tide_vc_ranges_prepare(tide_vc_ranges *ranges);

/* False: no host memory. */
bool tide_vc_ranges_add(tide_vc_ranges *ranges, tide_vc_range range);

/* The range that begins exactly there is removed; false: none does. `ret_range` may be NULL. */
bool tide_vc_ranges_remove(tide_vc_ranges *ranges, uint64_t address, tide_vc_range *ret_range);

/* The range that begins at the address or next below it, and the one that begins there or next
 * above it; false: there is none. */
bool tide_vc_ranges_at_or_below(const tide_vc_ranges *ranges, uint64_t address,
                                tide_vc_range *ret_range);
bool tide_vc_ranges_at_or_above(const tide_vc_ranges *ranges, uint64_t address,
                                tide_vc_range *ret_range);

/* The range that holds the address; false: none does. */
bool tide_vc_ranges_find(const tide_vc_ranges *ranges, uint64_t address, tide_vc_range *ret_range);

/* The length of the longest branch of the tree, which bounds what every call above costs. */
uint32_t tide_vc_ranges_height(const tide_vc_ranges *ranges);

/* The lowest range of at least n_bytes; false: all are smaller. */
bool tide_vc_ranges_fit(const tide_vc_ranges *ranges, uint64_t n_bytes, tide_vc_range *ret_range);

#endif
