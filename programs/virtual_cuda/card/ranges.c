/* ranges.c - a treap: a tree by address, in which the random weight of each node is above those of
 * its children, which keeps the tree flat. Each node stores the largest range below it, for the
 * first fit. */
#include "programs/virtual_cuda/card/ranges.h"

#include <stdlib.h>

#include "common/assert.h"

typedef struct tide_vc_range_node {
    tide_vc_range range;
    uint64_t largest_bytes; /* of the ranges of this node and all below it */
    uint32_t left, right;
    uint32_t weight;
} node;

enum { FIRST_ROOM = 256 };

/* The weight of a node: its address, mixed (the last steps of MurmurHash3), so two runs of a
 * program make the same tree. */
static uint32_t weight_of(uint64_t address) {
    uint64_t mixed = address >> 9; /* addresses are multiples of 512 */
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xff51afd7ed558ccd);
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (uint32_t)(mixed >> 32);
}

/* Recomputes a node's largest_bytes from its children. */
static void renew(node *nodes, uint32_t i) {
    uint64_t left = nodes[nodes[i].left].largest_bytes;
    uint64_t right = nodes[nodes[i].right].largest_bytes;
    uint64_t most = left > right ? left : right;
    nodes[i].largest_bytes = nodes[i].range.n_bytes > most ? nodes[i].range.n_bytes : most;
}

/* Splits a tree into the ranges below the address and the rest. */
static void split(node *nodes, uint32_t root, uint64_t address, uint32_t *ret_below,
                  uint32_t *ret_rest) {
    if (root == 0) {
        *ret_below = *ret_rest = 0;
    } else if (nodes[root].range.address < address) {
        uint32_t below = 0;
        split(nodes, nodes[root].right, address, &below, ret_rest);
        nodes[root].right = below;
        renew(nodes, root);
        *ret_below = root;
    } else {
        uint32_t rest = 0;
        split(nodes, nodes[root].left, address, ret_below, &rest);
        nodes[root].left = rest;
        renew(nodes, root);
        *ret_rest = root;
    }
}

/* All of `low` is below all of `high`. */
static uint32_t join(node *nodes, uint32_t low, uint32_t high) {
    if (low == 0 || high == 0) {
        return low != 0 ? low : high;
    }
    TIDE_ASSERT(nodes[low].range.address <= nodes[high].range.address);
    if (nodes[low].weight > nodes[high].weight) {
        nodes[low].right = join(nodes, nodes[low].right, high);
        renew(nodes, low);
        return low;
    }
    nodes[high].left = join(nodes, low, nodes[high].left);
    renew(nodes, high);
    return high;
}

bool tide_vc_ranges_prepare(tide_vc_ranges *ranges) {
    if (ranges->first_free != 0 || ranges->n + 1 < ranges->room) {
        return true;
    }
    if (ranges->room > UINT32_MAX / 2) {
        return false;
    }
    uint32_t room = ranges->room > 0 ? 2 * ranges->room : FIRST_ROOM;
    node *larger = realloc(ranges->nodes, room * sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    larger[0] = (node){.left = 0}; /* the end of every branch: no bytes */
    ranges->nodes = larger;
    ranges->room = room;
    return true;
}

bool tide_vc_ranges_add(tide_vc_ranges *ranges, tide_vc_range range) {
    uint32_t below = 0;
    uint32_t rest = 0;
    if (!tide_vc_ranges_prepare(ranges)) {
        return false;
    }
    uint32_t i = ranges->first_free;
    if (i != 0) {
        ranges->first_free = ranges->nodes[i].left;
    } else {
        i = ++ranges->n;
    }
    TIDE_ASSERT(i < ranges->room && range.n_bytes > 0);
    ranges->nodes[i] =
        (node){.range = range, .largest_bytes = range.n_bytes, .weight = weight_of(range.address)};
    split(ranges->nodes, ranges->root, range.address, &below, &rest);
    ranges->root = join(ranges->nodes, join(ranges->nodes, below, i), rest);
    return true;
}

bool tide_vc_ranges_remove(tide_vc_ranges *ranges, uint64_t address, tide_vc_range *ret_range) {
    tide_vc_range there;
    uint32_t below = 0;
    uint32_t own = 0;
    uint32_t rest = 0;
    if (!tide_vc_ranges_at_or_below(ranges, address, &there) || there.address != address) {
        return false;
    }
    split(ranges->nodes, ranges->root, address, &below, &rest);
    split(ranges->nodes, rest, address + 1, &own, &rest);
    ranges->root = join(ranges->nodes, below, rest);
    TIDE_ASSERT(own != 0 && ranges->nodes[own].range.address == address);
    ranges->nodes[own].left = ranges->first_free;
    ranges->first_free = own;
    if (ret_range != NULL) {
        *ret_range = there;
    }
    return true;
}

bool tide_vc_ranges_at_or_below(const tide_vc_ranges *ranges, uint64_t address,
                                tide_vc_range *ret_range) {
    uint32_t found = 0;
    for (uint32_t i = ranges->root; i != 0;) {
        bool is_below = ranges->nodes[i].range.address <= address;
        found = is_below ? i : found;
        i = is_below ? ranges->nodes[i].right : ranges->nodes[i].left;
    }
    if (found != 0) {
        *ret_range = ranges->nodes[found].range;
    }
    return found != 0;
}

bool tide_vc_ranges_at_or_above(const tide_vc_ranges *ranges, uint64_t address,
                                tide_vc_range *ret_range) {
    uint32_t found = 0;
    for (uint32_t i = ranges->root; i != 0;) {
        bool is_above = ranges->nodes[i].range.address >= address;
        found = is_above ? i : found;
        i = is_above ? ranges->nodes[i].left : ranges->nodes[i].right;
    }
    if (found != 0) {
        *ret_range = ranges->nodes[found].range;
    }
    return found != 0;
}

bool tide_vc_ranges_find(const tide_vc_ranges *ranges, uint64_t address, tide_vc_range *ret_range) {
    tide_vc_range there;
    if (!tide_vc_ranges_at_or_below(ranges, address, &there) ||
        address - there.address >= there.n_bytes) {
        return false;
    }
    *ret_range = there;
    return true;
}

bool tide_vc_ranges_fit(const tide_vc_ranges *ranges, uint64_t n_bytes, tide_vc_range *ret_range) {
    const node *nodes = ranges->nodes;
    uint32_t i = ranges->root;
    if (i == 0 || nodes[i].largest_bytes < n_bytes) {
        return false;
    }
    while (nodes[nodes[i].left].largest_bytes >= n_bytes || nodes[i].range.n_bytes < n_bytes) {
        i = nodes[nodes[i].left].largest_bytes >= n_bytes ? nodes[i].left : nodes[i].right;
        TIDE_ASSERT(i != 0); /* largest_bytes is right */
    }
    *ret_range = nodes[i].range;
    return true;
}

static uint32_t height_of(const node *nodes, uint32_t i) {
    if (i == 0) {
        return 0;
    }
    uint32_t left = height_of(nodes, nodes[i].left);
    uint32_t right = height_of(nodes, nodes[i].right);
    return 1 + (left > right ? left : right);
}

uint32_t tide_vc_ranges_height(const tide_vc_ranges *ranges) {
    return height_of(ranges->nodes, ranges->root);
}
