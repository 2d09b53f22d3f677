/* cache_nodes.c - where blocks and segments are kept: nodes by the chunk, and the table of live
 * blocks by address. */
#include <string.h>

#include "allocator/cache_internal.h"
#include "common/map.h"

enum {
    FIRST_BUCKETS = 256,
    BLOCKS_PER_CHUNK = 128, /* about 14 KiB */
    SEGMENTS_PER_CHUNK = 32
};

tide_status tide_cache_table_init(tide_cache_table *table, const tide_hostmem *mem) {
    table->buckets = tide_hostmem_zeroed(mem, FIRST_BUCKETS, sizeof(*table->buckets));
    if (table->buckets == NULL) {
        return TIDE_NO_MEMORY;
    }
    table->n_buckets = FIRST_BUCKETS;
    table->n_blocks = 0;
    return TIDE_OK;
}

void tide_cache_table_fini(tide_cache_table *table, const tide_hostmem *mem) {
    mem->release(mem->ctx, table->buckets);
    *table = (tide_cache_table){.buckets = NULL};
}

static tide_cache_block **bucket_of(const tide_cache_table *table, uint64_t address) {
    return &table->buckets[tide_hash_u64(address) & (table->n_buckets - 1)];
}

/* Without memory the table stays as it is and only gets slower. */
static void grow(tide_cache_table *table, const tide_hostmem *mem) {
    tide_cache_table larger = {.n_buckets = table->n_buckets * 2, .n_blocks = table->n_blocks};
    larger.buckets = tide_hostmem_zeroed(mem, larger.n_buckets, sizeof(*larger.buckets));
    if (larger.buckets == NULL) {
        return;
    }
    for (size_t i = 0; i < table->n_buckets; i++) {
        tide_cache_block *block = table->buckets[i];
        while (block != NULL) {
            tide_cache_block *next = block->same_chain;
            tide_cache_block **bucket = bucket_of(&larger, block->address);
            block->same_chain = *bucket;
            *bucket = block;
            block = next;
        }
    }
    mem->release(mem->ctx, table->buckets);
    *table = larger;
}

void tide_cache_table_put(tide_cache_table *table, const tide_hostmem *mem,
                          tide_cache_block *block) {
    if (table->n_blocks >= table->n_buckets) {
        grow(table, mem);
    }
    tide_cache_block **bucket = bucket_of(table, block->address);
    block->same_chain = *bucket;
    *bucket = block;
    table->n_blocks++;
}

tide_cache_block *tide_cache_table_find(const tide_cache_table *table, uint64_t address) {
    tide_cache_block *block = *bucket_of(table, address);
    while (block != NULL && block->address != address) {
        block = block->same_chain;
    }
    return block;
}

void tide_cache_table_remove(tide_cache_table *table, const tide_cache_block *block) {
    tide_cache_block **link = bucket_of(table, block->address);
    while (*link != block) {
        link = &(*link)->same_chain;
    }
    *link = block->same_chain;
    table->n_blocks--;
}

/* n_items nodes behind the link to the next chunk. */
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

tide_cache_block *tide_cache_take_block(tide_cache *cache) {
    tide_cache_block *block = cache->nodes.unused_blocks;
    cache->nodes.unused_blocks = block->left;
    cache->nodes.n_unused_blocks--;
    *block = (tide_cache_block){.stack = TIDE_NONE, .scope = TIDE_NONE, .name = TIDE_NONE};
    return block;
}

void tide_cache_drop_block(tide_cache *cache, tide_cache_block *block) {
    *block = (tide_cache_block){.left = cache->nodes.unused_blocks};
    cache->nodes.unused_blocks = block;
    cache->nodes.n_unused_blocks++;
}

tide_cache_segment *tide_cache_take_segment(tide_cache *cache) {
    tide_cache_segment *segment = cache->nodes.unused_segments;
    cache->nodes.unused_segments = segment->newer;
    cache->nodes.n_unused_segments--;
    *segment = (tide_cache_segment){.address = 0};
    return segment;
}

void tide_cache_drop_segment(tide_cache *cache, tide_cache_segment *segment) {
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
