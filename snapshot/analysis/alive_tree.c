#include "snapshot/analysis/alive_tree.h"

#include <stdlib.h>

#include "common/assert.h"

/* A block with its value on each level. */
typedef struct leaf {
    uint32_t values[TIDE_N_TREE_KEYS]; /* unused levels are 0 */
    const tide_lifetime *block;        /* borrowed */
} leaf;

/* Leaves with the same value. */
typedef struct group {
    size_t begin, end; /* of the leaves */
    int64_t bytes;     /* whole blocks */
} group;

typedef struct grower {
    tide_alive_tree *tree; /* borrowed; filled */
    size_t n_levels;       /* at least 1 */
    size_t top;            /* shown children of each node */
    size_t capacity;       /* of the nodes */
    leaf *leaves;          /* owned; in the order of their values */
} grower;

const char *tide_tree_key_name(size_t i) {
    static const char *const NAMES[] = {"category", "phase", "scope", "name", "stack"};
    return i < TIDE_N_TREE_KEYS ? NAMES[i] : NULL;
}

static uint32_t value_of(const tide_scope_paths *paths, const tide_lifetime *block,
                         tide_tree_key key) {
    uint32_t path = block->scope == TIDE_NONE ? TIDE_NONE : paths->of_scope[block->scope];
    switch (key) {
    case TIDE_TREE_CATEGORY:
        return block->category;
    case TIDE_TREE_PHASE:
        return tide_scope_paths_phase(paths, path);
    case TIDE_TREE_SCOPE:
        return path;
    case TIDE_TREE_NAME:
        return block->name;
    default:
        return block->stack;
    }
}

static int by_values(const void *left, const void *right) {
    const leaf *a = left;
    const leaf *b = right;
    for (size_t i = 0; i < TIDE_N_TREE_KEYS; i++) {
        if (a->values[i] != b->values[i]) {
            return a->values[i] < b->values[i] ? -1 : 1;
        }
    }
    return 0;
}

static int by_bytes(const void *left, const void *right) {
    const group *a = left;
    const group *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Divides some leaves into the groups of one level, most bytes first. */
static size_t divide(const grower *grow, size_t level, const group *within, group *groups) {
    size_t n = 0;
    for (size_t i = within->begin; i < within->end; i++) {
        if (i == within->begin ||
            grow->leaves[i].values[level] != grow->leaves[i - 1].values[level]) {
            TIDE_ASSERT(i == within->begin ||
                        grow->leaves[i - 1].values[level] < grow->leaves[i].values[level]);
            groups[n++] = (group){.begin = i};
        }
        groups[n - 1].end = i + 1;
        groups[n - 1].bytes += (int64_t)grow->leaves[i].block->block_bytes;
    }
    qsort(groups, n, sizeof(*groups), by_bytes);
    return n;
}

static void add_leaves(const grower *grow, tide_tree_node *node, const group *of) {
    for (size_t i = of->begin; i < of->end; i++) {
        node->bytes += (int64_t)grow->leaves[i].block->block_bytes;
        node->requested_bytes += (int64_t)grow->leaves[i].block->requested_bytes;
        node->n_blocks++;
    }
}

static tide_status add_node(grower *grow, const tide_tree_node *node) {
    tide_alive_tree *tree = grow->tree;
    tide_tree_node *grown = tide_hostmem_grow(tree->mem, tree->nodes, &grow->capacity,
                                              tree->n_nodes + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    tree->nodes = grown;
    tree->nodes[tree->n_nodes++] = *node;
    return TIDE_OK;
}

/* Adds the children of `parent` and their children, one level per key. */
static tide_status add_level(grower *grow, size_t level, size_t parent, const group *within) {
    const tide_hostmem *mem = grow->tree->mem;
    TIDE_ASSERT(level < grow->n_levels && within->begin < within->end);
    tide_status status = TIDE_OK;
    group *groups = tide_hostmem_zeroed(mem, within->end - within->begin, sizeof(*groups));
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n = divide(grow, level, within, groups);
    /* Merging only one value would just hide its name. */
    size_t n_shown = n > grow->top + 1 ? grow->top : n;
    for (size_t i = 0; i < n_shown && status == TIDE_OK; i++) {
        tide_tree_node node = {
            .parent = parent, .level = level, .value = grow->leaves[groups[i].begin].values[level]};
        size_t index = grow->tree->n_nodes;
        add_leaves(grow, &node, &groups[i]);
        status = add_node(grow, &node);
        if (status == TIDE_OK && level + 1 < grow->n_levels) {
            status = add_level(grow, level + 1, index, &groups[i]);
        }
    }
    if (status == TIDE_OK && n_shown < n) {
        tide_tree_node rest = {
            .parent = parent, .level = level, .value = TIDE_NONE, .n_merged = n - n_shown};
        for (size_t i = n_shown; i < n; i++) {
            add_leaves(grow, &rest, &groups[i]);
        }
        status = add_node(grow, &rest);
    }
    mem->release(mem->ctx, groups);
    return status;
}

tide_status tide_alive_tree_init(tide_alive_tree *tree, const tide_hostmem *mem,
                                 const tide_lifetime *blocks, size_t n_blocks,
                                 const tide_scope_paths *paths, const tide_tree_plan *plan) {
    *tree = (tide_alive_tree){.mem = mem};
    if (n_blocks == 0) {
        return TIDE_OK;
    }
    TIDE_ASSERT(plan->n_keys > 0 && plan->n_keys <= TIDE_N_TREE_KEYS);
    grower grow = {.tree = tree, .n_levels = plan->n_keys, .top = plan->top};
    grow.leaves = tide_hostmem_zeroed(mem, n_blocks, sizeof(*grow.leaves));
    if (grow.leaves == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_blocks; i++) {
        grow.leaves[i].block = &blocks[i];
        for (size_t j = 0; j < plan->n_keys; j++) {
            grow.leaves[i].values[j] = value_of(paths, &blocks[i], plan->keys[j]);
        }
    }
    qsort(grow.leaves, n_blocks, sizeof(*grow.leaves), by_values);
    const group all = {.end = n_blocks};
    tide_status status = add_level(&grow, 0, SIZE_MAX, &all);
    mem->release(mem->ctx, grow.leaves);
    if (status != TIDE_OK) {
        tide_alive_tree_fini(tree);
    }
    return status;
}

void tide_alive_tree_fini(tide_alive_tree *tree) {
    if (tree->mem != NULL) {
        tree->mem->release(tree->mem->ctx, tree->nodes);
        *tree = (tide_alive_tree){.mem = tree->mem};
    }
}
