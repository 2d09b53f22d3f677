/* bins.c - free blocks of one pool in the order (stream, bytes, address).
 *
 * Each stream has a set of bins. A bin holds blocks of one size below 32 KiB and of sizes within 3
 * % above; a bitmap marks the bins that are not empty, so the best fit is in the bin of its size or
 * in the first non-empty bin after it, two or three words away. Within a bin, the order is kept by
 * a treap whose priorities are hashes of addresses, so its shape depends only on its contents: with
 * few blocks it is a node or two, and with many of one size it does not degenerate like a list.
 */
#include "allocator/cache_internal.h"
#include "common/assert.h"
#include "common/status.h"

/* ---- one bin ---- */

/* Whether the block is before the key in the order of a set. */
static bool is_below(const tide_cache_block *block, uint64_t block_bytes, uint64_t address) {
    return block->block_bytes != block_bytes ? block->block_bytes < block_bytes
                                             : block->address < address;
}

/* Parents have a higher priority than their children. Hashing the address gives every block a
 * random priority without a random number: distinct addresses have distinct priorities, because the
 * mixing is reversible, and the same blocks always make the same treap. */
static uint64_t priority_of(const tide_cache_block *block) {
    uint64_t mixed = block->address * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
}

void tide_cache_bin_insert(tide_cache_block **root, tide_cache_block *block) {
    uint64_t priority = priority_of(block);
    tide_cache_block **link = root;
    while (*link != NULL && priority_of(*link) > priority) {
        TIDE_ASSERT(*link != block);
        link =
            is_below(*link, block->block_bytes, block->address) ? &(*link)->right : &(*link)->left;
    }
    /* The block takes this place. Its subtrees are the former subtree, split into keys below and
     * above it. */
    tide_cache_block *rest = *link;
    TIDE_ASSERT(rest == NULL || priority_of(rest) < priority); /* no two are the same */
    tide_cache_block **below = &block->left;
    tide_cache_block **above = &block->right;
    *link = block;
    while (rest != NULL) {
        if (is_below(rest, block->block_bytes, block->address)) {
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
}

bool tide_cache_bin_remove(tide_cache_block **root, const tide_cache_block *block) {
    tide_cache_block **link = root;
    while (*link != NULL && *link != block) {
        link =
            is_below(*link, block->block_bytes, block->address) ? &(*link)->right : &(*link)->left;
    }
    if (*link == NULL) {
        return false;
    }
    /* Merges its two subtrees in its place: the root with the higher priority moves up each
     * time. */
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
    return true;
}

static tide_cache_block *bin_at_least(tide_cache_block *root, uint64_t block_bytes,
                                      uint64_t address) {
    tide_cache_block *found = NULL;
    for (tide_cache_block *block = root; block != NULL;) {
        if (is_below(block, block_bytes, address)) {
            block = block->right;
        } else {
            found = block;
            block = block->left;
        }
    }
    return found;
}

static tide_cache_block *bin_below(tide_cache_block *root, uint64_t block_bytes, uint64_t address) {
    tide_cache_block *found = NULL;
    for (tide_cache_block *block = root; block != NULL;) {
        if (is_below(block, block_bytes, address)) {
            found = block;
            block = block->right;
        } else {
            block = block->left;
        }
    }
    return found;
}

/* ---- the bins of a stream ---- */

/* The last bin before `bin` that is not empty; TIDE_CACHE_BINS: none. Used only to release oversize
 * blocks, so a linear search is enough. */
static size_t previous_bin(const tide_cache_set *set, size_t bin) {
    while (bin > 0) {
        bin--;
        if (set->bins[bin] != NULL) {
            return bin;
        }
    }
    return TIDE_CACHE_BINS;
}

tide_cache_block *tide_cache_set_at_least(const tide_cache_set *set, uint64_t block_bytes,
                                          uint64_t address) {
    size_t bin = tide_cache_bin_of(block_bytes);
    if (set->bins[bin] != NULL) {
        tide_cache_block *block = bin_at_least(set->bins[bin], block_bytes, address);
        if (block != NULL || ++bin == TIDE_CACHE_BINS) {
            return block;
        }
    }
    bin = tide_cache_next_bin(set, bin);
    if (bin == TIDE_CACHE_BINS) {
        return NULL;
    }
    tide_cache_block *block = set->bins[bin];
    while (block->left != NULL) {
        block = block->left;
    }
    return block;
}

static tide_cache_block *set_below(const tide_cache_set *set, uint64_t block_bytes,
                                   uint64_t address) {
    size_t own = tide_cache_bin_of(block_bytes);
    tide_cache_block *block = bin_below(set->bins[own], block_bytes, address);
    if (block != NULL) {
        return block;
    }
    size_t bin = previous_bin(set, own);
    return bin == TIDE_CACHE_BINS ? NULL : bin_below(set->bins[bin], UINT64_MAX, UINT64_MAX);
}

/* ---- the pool ---- */

tide_cache_set *tide_cache_set_find(const tide_cache_bins *bins, tide_stream stream) {
    tide_cache_set *set = bins->sets;
    while (set != NULL && set->stream != stream) {
        set = set->next;
    }
    return set;
}

tide_status tide_cache_bins_reserve(tide_cache *cache, int number, tide_stream stream) {
    tide_cache_bins *bins = &cache->free[number];
    if (tide_cache_set_of(bins, stream) != NULL) {
        return TIDE_OK;
    }
    tide_cache_set *set = tide_cache_new_chunk(cache, 1, sizeof(*set));
    if (set == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_cache_set **link = &bins->sets;
    while (*link != NULL && (*link)->stream < stream) {
        link = &(*link)->next;
    }
    set->stream = stream;
    TIDE_ASSERT(*link == NULL || (*link)->stream > stream);
    set->next = *link;
    *link = set;
    return TIDE_OK;
}

tide_cache_block *tide_cache_bins_at_least(const tide_cache_bins *bins, tide_stream stream,
                                           uint64_t block_bytes, uint64_t address) {
    for (const tide_cache_set *set = bins->sets; set != NULL; set = set->next) {
        tide_cache_block *block = set->stream < stream ? NULL
                                  : set->stream == stream
                                      ? tide_cache_set_at_least(set, block_bytes, address)
                                      : tide_cache_set_at_least(set, 0, 0);
        if (block != NULL) {
            return block;
        }
    }
    return NULL;
}

tide_cache_block *tide_cache_bins_below(const tide_cache_bins *bins, tide_stream stream,
                                        uint64_t block_bytes, uint64_t address) {
    tide_cache_block *found = NULL;
    for (const tide_cache_set *set = bins->sets; set != NULL && set->stream <= stream;
         set = set->next) {
        tide_cache_block *block = set->stream == stream ? set_below(set, block_bytes, address)
                                                        : set_below(set, UINT64_MAX, UINT64_MAX);
        found = block != NULL ? block : found;
    }
    return found;
}

tide_cache_block *tide_cache_bins_next(const tide_cache_bins *bins, const tide_cache_block *block) {
    return tide_cache_bins_at_least(bins, block->segment->stream, block->block_bytes,
                                    block->address + 1);
}

tide_status tide_cache_bins_check(const tide_cache_bins *bins, tide_error *error) {
    for (const tide_cache_set *set = bins->sets; set != NULL; set = set->next) {
        if (set->next != NULL && set->next->stream <= set->stream) {
            return tide_fail(error, TIDE_INVALID, "cache check: sets of streams are out of order");
        }
        for (size_t bin = 0; bin < TIDE_CACHE_BINS; bin++) {
            bool is_full = (set->full[bin / 64] >> (bin % 64) & 1) != 0;
            bool has_word = (set->full_words >> (bin / 64) & 1) != 0;
            if (is_full != (set->bins[bin] != NULL) || (is_full && !has_word) ||
                has_word != (set->full[bin / 64] != 0)) {
                return tide_fail(error, TIDE_INVALID,
                                 "cache check: free blocks: the bitmap is wrong about bin %zu",
                                 bin);
            }
        }
    }
    return TIDE_OK;
}
