/* live_pools.c - the private pools of events and segments. A pool is a graph's or the user's. */
#include <string.h>

#include "capture/live_internal.h"
#include "common/assert.h"

/* An id beyond 32 bits is a damaged one. */
static tide_status copy_pools(const tide_recover_notes *notes, tide_snapshot *snapshot) {
    tide_snapshot_pool *pools = tide_arena_alloc(&snapshot->arena, notes->n_pools, sizeof(*pools));
    if (pools == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < notes->n_pools; i++) {
        for (size_t k = 0; k < 2; k++) {
            uint64_t id = notes->pools[i][k];
            pools[i].id[k] = id <= UINT32_MAX ? (uint32_t)id : 0;
        }
    }
    snapshot->pools = pools;
    snapshot->n_pools = notes->n_pools;
    return TIDE_OK;
}

static tide_status copy_numbers(const tide_recover_notes *notes, tide_snapshot *snapshot) {
    uint16_t *numbers = tide_arena_alloc(&snapshot->arena, snapshot->n_events, sizeof(*numbers));
    if (numbers == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        uint16_t pool = notes->extras[i].pool;
        numbers[i] = pool <= notes->n_pools ? pool : 0; /* the journal was full */
    }
    snapshot->event_pool = numbers;
    return TIDE_OK;
}

/* The first segment that ends above the address. */
static size_t first_above(const tide_boundary *of, uint64_t address) {
    size_t low = 0;
    size_t high = of->n_segments;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->segments[middle].address + of->segments[middle].total_bytes <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* All segments with a part of that memory belong to the pool: parts of the mapped memory may have
 * been unmapped since. Devices share no addresses. */
static void tell(const tide_boundary *of, const tide_live_pooled *what,
                 const tide_snapshot *snapshot) {
    for (size_t i = first_above(of, what->address); i < of->n_segments; i++) {
        tide_segment_row *segment = &of->segments[i];
        if (segment->address >= what->address + what->n_bytes) {
            break;
        }
        if (segment->device == what->device) {
            const tide_snapshot_pool none = {.id = {0, 0}};
            TIDE_ASSERT(what->pool <= snapshot->n_pools);
            const tide_snapshot_pool *pool =
                what->pool > 0 ? &snapshot->pools[what->pool - 1] : &none;
            memcpy(segment->pool_id, pool->id, sizeof(segment->pool_id));
        }
    }
}

/* Memory that existed before the first event, at both ends: later events override this
 * afterwards. */
static void tell_base(const tide_log_contents *contents, const tide_boundary_fit *fit,
                      const tide_snapshot *snapshot) {
    for (size_t i = 0; i < contents->n_base_pools; i++) {
        tide_live_pooled what = contents->base_pools[i];
        what.pool = what.pool <= snapshot->n_pools ? what.pool : 0;
        tell(&fit->start, &what, snapshot);
        tell(&fit->end, &what, snapshot);
    }
}

/* The last event in a segment has its pool: events of a pool that had these addresses before come
 * earlier. */
static void tell_segments(const tide_boundary *end, const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        const tide_live_pooled what = {.address = event.address,
                                       .n_bytes = event.block_bytes,
                                       .pool = snapshot->event_pool[i],
                                       .device = event.device};
        if (tide_action_has_address(event.action) && event.action != TIDE_ACTION_SEGMENT_UNMAP) {
            tell(end, &what, snapshot);
        }
    }
}

tide_status tide_live_tell_pools(const tide_recover_notes *notes, const tide_log_contents *contents,
                                 const tide_boundary_fit *fit, tide_snapshot *snapshot) {
    if (notes->n_pools == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(copy_pools(notes, snapshot));
    TIDE_TRY(copy_numbers(notes, snapshot));
    tell_base(contents, fit, snapshot);
    tell_segments(&fit->end, snapshot);
    return TIDE_OK;
}
