/* alive_tree.h - the blocks allocated at one instant as a tree: by category, within it by scope,
 * within that by name, and so on. The bytes of a node are the sum of its children's; small children
 * are merged into one.
 */
#ifndef TIDE_SNAPSHOT_ALIVE_TREE_H
#define TIDE_SNAPSHOT_ALIVE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/scope_paths.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_tree_key {
    TIDE_TREE_CATEGORY = 0,
    TIDE_TREE_PHASE,
    TIDE_TREE_SCOPE,
    TIDE_TREE_NAME,
    TIDE_TREE_STACK,
    TIDE_N_TREE_KEYS
} tide_tree_key;

/* "category", "phase", ...: the values of an option; NULL after the last. */
const char *tide_tree_key_name(size_t i);

typedef struct tide_tree_node {
    size_t parent;           /* index of the enclosing node; SIZE_MAX: outermost */
    size_t level;            /* 0: outermost */
    uint32_t value;          /* category, number of the path, string or stack; TIDE_NONE: none */
    size_t n_merged;         /* 0; else this node is the rest: this many values, merged */
    int64_t bytes;           /* whole blocks */
    int64_t requested_bytes; /* of the same blocks */
    int64_t n_blocks;
} tide_tree_node;

typedef struct tide_alive_tree {
    const tide_hostmem *mem; /* borrowed */
    tide_tree_node *nodes;   /* owned; a node precedes its children, which are by bytes, most first,
                                with the rest last */
    size_t n_nodes;
} tide_alive_tree;

/* How to divide the blocks. */
typedef struct tide_tree_plan {
    tide_tree_key keys[TIDE_N_TREE_KEYS]; /* of each level, without repeats */
    size_t n_keys;                        /* at least 1 */
    size_t top;                           /* shown children of a node, at least 1 */
} tide_tree_plan;

/* The caller calls fini. */
TIDE_NODISCARD tide_status tide_alive_tree_init(tide_alive_tree *tree, const tide_hostmem *mem,
                                                const tide_lifetime *blocks, size_t n_blocks,
                                                const tide_scope_paths *paths,
                                                const tide_tree_plan *plan);
void tide_alive_tree_fini(tide_alive_tree *tree);

#ifdef __cplusplus
}
#endif

#endif
