/* nodes.c - nodes for blocks and segments, allocated in chunks and reused. A warm cache allocates
 * no host memory, and its nodes stay close together. */
#include <string.h>

#include "allocator/cache_internal.h"
#include "common/assert.h"

enum {
    BLOCKS_PER_CHUNK = 128, /* about 12 KiB */
    SEGMENTS_PER_CHUNK = 32
};

/* Returns n_items zeroed nodes, which follow the link to the next chunk. */
void *tide_cache_new_chunk(tide_cache *cache, size_t n_items, size_t item_bytes) {
    _Static_assert(sizeof(void *) % _Alignof(uint64_t) == 0, "nodes follow the link");
    unsigned char *chunk =
        tide_hostmem_zeroed(&cache->mem, 1, sizeof(void *) + n_items * item_bytes);
    if (chunk == NULL) {
        return NULL;
    }
    memcpy(chunk, &cache->nodes.chunks, sizeof(void *));
    cache->nodes.chunks = chunk;
    return chunk + sizeof(void *);
}

tide_status tide_cache_nodes_reserve(tide_cache *cache, size_t n_blocks, size_t n_segments) {
    while (cache->nodes.n_unused_blocks < n_blocks) {
        tide_cache_block *blocks = tide_cache_new_chunk(cache, BLOCKS_PER_CHUNK, sizeof(*blocks));
        if (blocks == NULL) {
            return TIDE_NO_MEMORY;
        }
        /* From the last one down, so they are taken in the order of their addresses. */
        for (size_t i = BLOCKS_PER_CHUNK; i > 0; i--) {
            tide_cache_drop_block(cache, &blocks[i - 1]);
        }
    }
    while (cache->nodes.n_unused_segments < n_segments) {
        tide_cache_segment *segments =
            tide_cache_new_chunk(cache, SEGMENTS_PER_CHUNK, sizeof(*segments));
        if (segments == NULL) {
            return TIDE_NO_MEMORY;
        }
        for (size_t i = SEGMENTS_PER_CHUNK; i > 0; i--) {
            tide_cache_drop_segment(cache, &segments[i - 1]);
        }
    }
    return TIDE_OK;
}

tide_cache_segment *tide_cache_take_segment(tide_cache *cache) {
    tide_cache_segment *segment = cache->nodes.unused_segments;
    TIDE_ASSERT(cache->nodes.n_unused_segments > 0 && segment != NULL); /* it was reserved */
    cache->nodes.unused_segments = segment->newer;
    cache->nodes.n_unused_segments--;
    *segment = (tide_cache_segment){.address = 0};
    return segment;
}

void tide_cache_drop_segment(tide_cache *cache, tide_cache_segment *segment) {
    TIDE_ASSERT(segment != cache->nodes.unused_segments);
    *segment = (tide_cache_segment){.newer = cache->nodes.unused_segments};
    cache->nodes.unused_segments = segment;
    cache->nodes.n_unused_segments++;
}

void tide_cache_nodes_fini(tide_cache *cache) {
    void *chunk = cache->nodes.chunks;
    while (chunk != NULL) {
        void *next = NULL;
        memcpy(&next, chunk, sizeof(void *));
        cache->mem.release(cache->mem.ctx, chunk);
        chunk = next;
    }
    cache->nodes = (tide_cache_nodes){.chunks = NULL};
}
