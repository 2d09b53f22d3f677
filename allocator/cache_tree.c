/* cache_tree.c - free blocks of one pool in the order (stream, bytes, address). */
#include "allocator/cache_internal.h"
#include "common/map.h"

/* What the order is by: the first difference decides. */
typedef struct key {
    tide_stream stream;
    uint64_t block_bytes;
    uint64_t address; /* of the block: no two have the same */
} key;

static key key_of(const tide_cache_block *block) {
    return (key){block->segment->stream, block->block_bytes, block->address};
}

static bool is_less(key a, key b) {
    if (a.stream != b.stream) {
        return a.stream < b.stream;
    }
    if (a.block_bytes != b.block_bytes) {
        return a.block_bytes < b.block_bytes;
    }
    return a.address < b.address;
}

/* Parents have a higher priority than their children; addresses are distinct, so these are too. */
static uint64_t priority_of(const tide_cache_block *block) {
    return tide_hash_u64(block->address);
}

void tide_cache_tree_insert(tide_cache_tree *tree, tide_cache_block *block) {
    key at = key_of(block);
    uint64_t priority = priority_of(block);
    tide_cache_block **link = &tree->root;
    while (*link != NULL && priority_of(*link) > priority) {
        link = is_less(at, key_of(*link)) ? &(*link)->left : &(*link)->right;
    }
    /* The block takes this place; what hung here is parted into keys below and above it. */
    tide_cache_block *rest = *link;
    tide_cache_block **below = &block->left;
    tide_cache_block **above = &block->right;
    *link = block;
    while (rest != NULL) {
        if (is_less(key_of(rest), at)) {
            *below = rest;
            below = &rest->right;
            rest = rest->right;
        } else {
            *above = rest;
            above = &rest->left;
            rest = rest->left;
        }
    }
    *below = NULL;
    *above = NULL;
    tree->n_blocks++;
}

bool tide_cache_tree_remove(tide_cache_tree *tree, tide_cache_block *block) {
    key at = key_of(block);
    tide_cache_block **link = &tree->root;
    while (*link != NULL && *link != block) {
        link = is_less(at, key_of(*link)) ? &(*link)->left : &(*link)->right;
    }
    if (*link == NULL) {
        return false;
    }
    /* Its two subtrees become one in its place: the root with the higher priority wins, again and
     * again. */
    tide_cache_block *left = block->left;
    tide_cache_block *right = block->right;
    while (left != NULL && right != NULL) {
        if (priority_of(left) > priority_of(right)) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left != NULL ? left : right;
    block->left = NULL;
    block->right = NULL;
    tree->n_blocks--;
    return true;
}

/* The two blocks between which the key lies: the last one below it, and the first at or above it.
 */
typedef struct gap {
    tide_cache_block *below; /* NULL: none */
    tide_cache_block *above; /* NULL: none */
} gap;

static gap find_gap(const tide_cache_tree *tree, key at) {
    gap found = {NULL, NULL};
    for (tide_cache_block *block = tree->root; block != NULL;) {
        if (is_less(key_of(block), at)) {
            found.below = block;
            block = block->right;
        } else {
            found.above = block;
            block = block->left;
        }
    }
    return found;
}

tide_cache_block *tide_cache_tree_at_least(const tide_cache_tree *tree, tide_stream stream,
                                           uint64_t block_bytes, uint64_t address) {
    return find_gap(tree, (key){stream, block_bytes, address}).above;
}

tide_cache_block *tide_cache_tree_below(const tide_cache_tree *tree, tide_stream stream,
                                        uint64_t block_bytes, uint64_t address) {
    return find_gap(tree, (key){stream, block_bytes, address}).below;
}

tide_cache_block *tide_cache_tree_next(const tide_cache_tree *tree, const tide_cache_block *block) {
    return tide_cache_tree_at_least(tree, block->segment->stream, block->block_bytes,
                                    block->address + 1);
}
