/* adopt.c - segments from tables: the state from which a replay starts. */
#include <inttypes.h>

#include "allocator/cache_internal.h"
#include "common/assert.h"

/* Row i of a segment at `address`, which the rows before it fill up to offset_bytes. */
static tide_status check_row(const tide_cache *cache, uint64_t address, const tide_block_row *rows,
                             size_t i, uint64_t offset_bytes, tide_error *error) {
    const tide_block_row *row = &rows[i];
    if (row->offset_bytes != offset_bytes || row->block_bytes == 0 ||
        row->block_bytes % cache->config.min_block_bytes != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": block %zu does not continue at %" PRIu64
                         " with a multiple of %zu bytes",
                         address, i, offset_bytes, cache->config.min_block_bytes);
    }
    if (row->state != TIDE_BLOCK_FREE && row->state != TIDE_BLOCK_ALLOCATED) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "segment 0x%" PRIx64 ": block %zu waits for another stream", address, i);
    }
    if (row->state == TIDE_BLOCK_ALLOCATED &&
        (row->requested_bytes == 0 || row->requested_bytes > row->block_bytes)) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": block %zu: %" PRIu64
                         " bytes were asked of a block of %" PRIu64,
                         address, i, row->requested_bytes, row->block_bytes);
    }
    if (row->category >= TIDE_MAX_CATEGORIES) {
        return tide_fail(error, TIDE_INVALID, "segment 0x%" PRIx64 ": block %zu: category %d",
                         address, i, row->category);
    }
    if (i > 0 && row->state == TIDE_BLOCK_FREE && rows[i - 1].state == TIDE_BLOCK_FREE) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": blocks %zu and %zu are free neighbours", address,
                         i - 1, i);
    }
    return TIDE_OK;
}

static tide_status check_rows(const tide_cache *cache, uint64_t address, size_t total_bytes,
                              const tide_block_row *rows, size_t n_rows, tide_error *error) {
    uint64_t covered_bytes = 0;
    for (size_t i = 0; i < n_rows; i++) {
        TIDE_TRY(check_row(cache, address, rows, i, covered_bytes, error));
        if (rows[i].block_bytes > total_bytes - covered_bytes) {
            return tide_fail(error, TIDE_INVALID,
                             "segment 0x%" PRIx64 ": block %zu of %" PRIu64
                             " bytes ends beyond its %zu bytes",
                             address, i, rows[i].block_bytes, total_bytes);
        }
        covered_bytes += rows[i].block_bytes;
    }
    if (n_rows == 0 || covered_bytes != total_bytes) {
        return tide_fail(error, TIDE_INVALID,
                         "segment 0x%" PRIx64 ": its blocks cover %" PRIu64 " of %zu bytes",
                         address, covered_bytes, total_bytes);
    }
    return TIDE_OK;
}

static tide_status check_overlap(const tide_cache *cache, uint64_t address, size_t total_bytes,
                                 tide_error *error) {
    for (const tide_cache_segment *other = cache->newest; other != NULL; other = other->older) {
        if (address < other->address + other->total_bytes &&
            other->address < address + total_bytes) {
            return tide_fail(error, TIDE_INVALID,
                             "segment 0x%" PRIx64 " overlaps the segment at 0x%" PRIx64, address,
                             other->address);
        }
    }
    return TIDE_OK;
}

/* Gives a block of an adopted segment, already placed, the state of its row. */
static void adopt_block(tide_cache *cache, tide_cache_block *block, const tide_block_row *row) {
    tide_cache_bins *bins = &cache->free[block->segment->bins];
    TIDE_ASSERT(row->state == TIDE_BLOCK_FREE || row->state == TIDE_BLOCK_ALLOCATED);
    block->state = row->state;
    if (row->state == TIDE_BLOCK_FREE) {
        block->freed_at_lookup = bins->n_lookups;
        tide_cache_bins_insert(bins, block);
        if (tide_cache_is_split(block)) {
            tide_cache_count_split(cache, block->segment, 1, (int64_t)block->block_bytes);
        }
        return;
    }
    block->requested_bytes = row->requested_bytes;
    block->category = row->category;
    block->stack = row->stack;
    block->scope = row->scope;
    block->name = row->name;
    tide_cache_table_put(&cache->live, block);
    tide_cache_count_alloc(cache, block);
}

/* Cuts a block that is in no bin, and as large as all rows together, into the blocks of the
 * rows. */
static void carve(tide_cache *cache, tide_cache_block *block, const tide_block_row *rows,
                  size_t n_rows) {
    tide_cache_block *const behind = block->after;
    const uint64_t end = block->address + block->block_bytes;
    block->block_bytes = rows[0].block_bytes;
    for (size_t i = 1; i < n_rows; i++) {
        tide_cache_block *next = tide_cache_take_block(cache);
        next->address = block->address + block->block_bytes;
        next->block_bytes = rows[i].block_bytes;
        next->segment = block->segment;
        next->before = block;
        block->after = next;
        block = next;
        cache->n_blocks++;
    }
    TIDE_ASSERT(block->address + block->block_bytes == end);
    block->after = behind;
    if (behind != NULL) {
        behind->before = block;
    }
    /* Only now, from the last one back: whether a block is split depends on its neighbours. */
    for (size_t i = n_rows; i > 0; i--) {
        adopt_block(cache, block, &rows[i - 1]);
        block = block->before;
    }
}

/* Reserves host memory for n_blocks more, and for the nodes that every allocation relies on. */
static tide_status reserve(tide_cache *cache, tide_stream stream, int pool, size_t n_blocks,
                           tide_error *error) {
    if (tide_cache_nodes_reserve(cache, n_blocks + TIDE_CACHE_ALLOC_BLOCKS, 1) != TIDE_OK ||
        tide_cache_table_reserve(&cache->live, &cache->mem, n_blocks) != TIDE_OK ||
        tide_cache_bins_reserve(cache, pool, stream) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for %zu blocks", n_blocks);
    }
    return TIDE_OK;
}

static tide_status adopt_locked(tide_cache *cache, uint64_t address, size_t total_bytes,
                                tide_stream stream, int pool, const tide_block_row *blocks,
                                size_t n_blocks, tide_error *error) {
    TIDE_TRY(check_rows(cache, address, total_bytes, blocks, n_blocks, error));
    TIDE_TRY(check_overlap(cache, address, total_bytes, error));
    TIDE_TRY(reserve(cache, stream, pool, n_blocks, error));
    carve(cache, tide_cache_enter_segment(cache, address, total_bytes, stream, pool), blocks,
          n_blocks);
    return TIDE_OK;
}

tide_status tide_cache_adopt_segment(tide_cache *cache, uint64_t address, size_t total_bytes,
                                     tide_stream stream, int pool, const tide_block_row *blocks,
                                     size_t n_blocks, tide_error *error) {
    tide_lock_acquire(cache->lock);
    tide_status status =
        adopt_locked(cache, address, total_bytes, stream, pool, blocks, n_blocks, error);
    tide_lock_release(cache->lock);
    return status;
}

static tide_status adopt_range_locked(tide_cache *cache, tide_stream stream, int pool,
                                      uint64_t *ret_address, tide_error *error) {
    const tide_cache_request request = {
        .block_bytes = cache->config.min_block_bytes, .stream = stream, .pool = pool, .bins = pool};
    tide_cache_block *block = NULL;
    TIDE_TRY(reserve(cache, stream, pool, 1, error));
    TIDE_TRY(tide_cache_reserve_range(cache, &request, &block, error));
    *ret_address = block->address;
    return TIDE_OK;
}

tide_status tide_cache_adopt_range(tide_cache *cache, tide_stream stream, int pool,
                                   uint64_t *ret_address, tide_error *error) {
    tide_lock_acquire(cache->lock);
    tide_status status = adopt_range_locked(cache, stream, pool, ret_address, error);
    tide_lock_release(cache->lock);
    return status;
}

/* The unmapped block around these addresses; NULL if there is none. */
static tide_cache_block *unmapped_around(const tide_cache *cache, uint64_t address,
                                         size_t n_bytes) {
    for (const tide_cache_segment *range = cache->ranges; range != NULL;
         range = range->next_range) {
        for (tide_cache_block *block = range->first_unmapped; block != NULL; block = block->right) {
            if (block->address <= address && address - block->address < block->block_bytes &&
                n_bytes <= block->address + block->block_bytes - address) {
                return block;
            }
        }
    }
    return NULL;
}

static tide_status adopt_mapped_locked(tide_cache *cache, uint64_t address, size_t total_bytes,
                                       const tide_block_row *blocks, size_t n_blocks,
                                       tide_error *error) {
    TIDE_TRY(check_rows(cache, address, total_bytes, blocks, n_blocks, error));
    tide_cache_block *block = unmapped_around(cache, address, total_bytes);
    if (block == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "the %zu bytes at 0x%" PRIx64 " are not unmapped addresses of one range",
                         total_bytes, address);
    }
    const tide_cache_segment *range = block->segment;
    const size_t granule_bytes = tide_cache_granule(cache, range->pool);
    if ((address - range->address) % granule_bytes != 0 || total_bytes % granule_bytes != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "the %zu bytes at 0x%" PRIx64
                         " are not whole granules of %zu bytes: give large_segment_size_mb as the "
                         "recording had it",
                         total_bytes, address, granule_bytes);
    }
    TIDE_TRY(reserve(cache, range->stream, range->pool, n_blocks, error));
    TIDE_TRY(tide_device_map(cache->device, address, total_bytes, granule_bytes, error));
    block = tide_cache_cut_unmapped(cache, block, address);
    tide_cache_note_mapped(cache, block, total_bytes);
    if (block->address != address || block->block_bytes != total_bytes) {
        return tide_fail(error, TIDE_INVALID,
                         "the %zu bytes at 0x%" PRIx64 " touch another part of their range",
                         total_bytes, address);
    }
    tide_cache_bins_take(&cache->free[range->bins], block);
    carve(cache, block, blocks, n_blocks);
    return TIDE_OK;
}

tide_status tide_cache_adopt_mapped(tide_cache *cache, uint64_t address, size_t total_bytes,
                                    const tide_block_row *blocks, size_t n_blocks,
                                    tide_error *error) {
    tide_lock_acquire(cache->lock);
    tide_status status = adopt_mapped_locked(cache, address, total_bytes, blocks, n_blocks, error);
    tide_lock_release(cache->lock);
    return status;
}
