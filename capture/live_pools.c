/* live_pools.c - the private pools of events and segments. A pool is a graph's or the user's. */
#include "capture/live_internal.h"

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

/* The segment that has the event's memory; NULL: none that is left. Devices share no addresses. */
static tide_segment_row *segment_of(const tide_boundary *end, const tide_event *event) {
    size_t low = 0;
    size_t high = end->n_segments;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tide_segment_row *row = &end->segments[middle];
        if (row->address + row->total_bytes <= event->address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    tide_segment_row *found = low < end->n_segments ? &end->segments[low] : NULL;
    return found != NULL && found->device == event->device && found->address <= event->address
               ? found
               : NULL;
}

/* The last event in a segment has its pool: what happened in a pool that had these addresses before
 * comes earlier. */
static void tell_segments(const tide_boundary *end, const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event *event = &snapshot->events[i];
        tide_segment_row *segment =
            tide_action_has_address(event->action) ? segment_of(end, event) : NULL;
        uint16_t pool = snapshot->event_pool[i];
        if (segment != NULL) {
            segment->pool_id[0] = pool > 0 ? snapshot->pools[pool - 1].id[0] : 0;
            segment->pool_id[1] = pool > 0 ? snapshot->pools[pool - 1].id[1] : 0;
        }
    }
}

tide_status tide_live_tell_pools(const tide_recover_notes *notes, const tide_boundary *end,
                                 tide_snapshot *snapshot) {
    if (notes->n_pools == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(copy_pools(notes, snapshot));
    TIDE_TRY(copy_numbers(notes, snapshot));
    tell_segments(end, snapshot);
    return TIDE_OK;
}
