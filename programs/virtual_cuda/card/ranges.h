/* ranges.h - ranges of addresses in the order of their addresses: allocations, mappings, holes.
 *
 * Adding, removing and finding a range takes logarithmic time, so a program may keep as many as it
 * wants. Ranges do not overlap. The caller serializes access.
 */
#ifndef TIDE_VIRTUAL_CUDA_RANGES_H
#define TIDE_VIRTUAL_CUDA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* The caller defines the last three fields and may leave them empty. */
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
    uint32_t n, room;                 /* nodes ever used, and allocated */
} tide_vc_ranges;

/* Makes room: the next tide_vc_ranges_add cannot fail. False: no host memory. */
bool tide_vc_ranges_prepare(tide_vc_ranges *ranges);

/* False: no host memory. */
bool tide_vc_ranges_add(tide_vc_ranges *ranges, tide_vc_range range);

/* Removes the range that begins exactly at the address; false if none does. `ret_range` may be
 * NULL. */
bool tide_vc_ranges_remove(tide_vc_ranges *ranges, uint64_t address, tide_vc_range *ret_range);

/* The range that begins at the address or next below it, or at the address or next above it; false
 * if there is none. */
bool tide_vc_ranges_at_or_below(const tide_vc_ranges *ranges, uint64_t address,
                                tide_vc_range *ret_range);
bool tide_vc_ranges_at_or_above(const tide_vc_ranges *ranges, uint64_t address,
                                tide_vc_range *ret_range);

/* The range that holds the address; false if none does. */
bool tide_vc_ranges_find(const tide_vc_ranges *ranges, uint64_t address, tide_vc_range *ret_range);

/* The height of the tree, which bounds the cost of every call above. */
uint32_t tide_vc_ranges_height(const tide_vc_ranges *ranges);

/* The lowest range of at least n_bytes; false if all are smaller. */
bool tide_vc_ranges_fit(const tide_vc_ranges *ranges, uint64_t n_bytes, tide_vc_range *ret_range);

#endif
