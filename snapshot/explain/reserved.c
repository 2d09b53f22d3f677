#include "snapshot/explain/reserved.h"

#include "common/map.h"
#include "snapshot/analysis/layout.h"
#include "snapshot/analysis/live_walk.h"

enum { SPARE_PERCENT = 15 }; /* of the reserved memory, without a tensor */

#define LEAST_SPARE_BYTES (INT64_C(200) << 20)

/* Free bytes of the segments that one line bought for one kind of requests. */
typedef struct buyer {
    uint32_t frame; /* of the line */
    uint32_t node;  /* of the stack tree, with that frame */
    int64_t free_bytes[TIDE_N_RESERVED];
} buyer;

typedef struct counter {
    const tide_stack_facts *stacks; /* borrowed, as is the layout */
    const tide_layout *layout;
    tide_map stack_of; /* address of a segment -> stack of the row that bought it */
    tide_map owners;   /* streams and pools that were seen */
    tide_map index_of; /* frame -> buyer */
    buyer *buyers;     /* owned */
    size_t n_buyers, room;
    tide_reserved *to; /* borrowed; filled */
} counter;

/* PyTorch keeps the call stacks of segments from before the recording; others have no buyer. */
static tide_status find_buyers(counter *of, size_t device, int64_t event) {
    const tide_snapshot *snapshot = of->stacks->snapshot;
    const tide_event_table *events = &snapshot->events;
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *segment = &snapshot->start_segments[i];
        if (segment->device == device && segment->stack_after != 0) {
            TIDE_TRY(tide_map_put(&of->stack_of, segment->address, segment->stack_after - 1));
        }
    }
    for (int64_t i = 0; i <= event; i++) {
        uint32_t stack = tide_index_at(&events->stack, (size_t)i);
        if (events->device[i] == device && tide_action_gives_segment(events->action[i]) &&
            stack != TIDE_NONE) {
            TIDE_TRY(tide_map_put(&of->stack_of, events->address[i], stack));
        }
    }
    return TIDE_OK;
}

/* Handles that graphs share look like pools that the program made. Graphs are captured on a stream
 * other than the main one. */
static tide_reserved_kind kind_of(const counter *of, const tide_layout_segment *segment) {
    const tide_snapshot *snapshot = of->stacks->snapshot;
    bool is_main =
        segment->stream >= snapshot->n_streams || snapshot->streams[segment->stream].handle == 0;
    if (segment->pool_id[0] != 0 || (segment->pool_id[1] != 0 && !is_main)) {
        return TIDE_RESERVED_POOLS;
    }
    if (segment->pool_id[1] != 0) {
        return TIDE_RESERVED_OWN;
    }
    return is_main ? TIDE_RESERVED_MAIN : TIDE_RESERVED_STREAMS;
}

static tide_status count_owner(counter *of, tide_reserved_kind kind,
                               const tide_layout_segment *segment) {
    uint64_t pool = ((uint64_t)segment->pool_id[0] << 32) | segment->pool_id[1];
    bool is_private = kind == TIDE_RESERVED_POOLS || kind == TIDE_RESERVED_OWN;
    uint64_t key = is_private ? tide_hash_u64(pool + UINT64_C(1) * UINT8_MAX + 1) : segment->stream;
    if (!tide_map_find(&of->owners, key, NULL)) {
        TIDE_TRY(tide_map_put(&of->owners, key, 0));
        of->to->parts[kind].n_owners++;
    }
    return TIDE_OK;
}

/* Many lines map memory into an expandable segment, so none requested it. */
static tide_status count_buyer(counter *of, tide_reserved_kind kind,
                               const tide_layout_segment *segment) {
    uint64_t stack = TIDE_NONE;
    if (segment->is_expandable) {
        return TIDE_OK;
    }
    (void)tide_map_find(&of->stack_of, segment->address, &stack);
    uint32_t node = tide_stack_program(of->stacks, (uint32_t)stack);
    uint64_t index = of->n_buyers;
    if (node == TIDE_NONE) {
        return TIDE_OK;
    }
    uint32_t frame = of->stacks->snapshot->stacks[node].frame;
    if (!tide_map_find(&of->index_of, frame, &index)) {
        buyer *grown = tide_hostmem_grow(of->stacks->mem, of->buyers, &of->room, of->n_buyers + 1,
                                         sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        of->buyers = grown;
        TIDE_TRY(tide_map_put(&of->index_of, frame, index));
        of->buyers[of->n_buyers++] = (buyer){.frame = frame, .node = node};
    }
    of->buyers[index].free_bytes[kind] += (int64_t)segment->cached_bytes;
    return TIDE_OK;
}

static void count_pieces(counter *of, tide_reserved_part *part,
                         const tide_layout_segment *segment) {
    for (size_t i = 0; i < segment->n_pieces; i++) {
        const tide_layout_piece *piece = &of->layout->pieces[segment->first_piece + i];
        if (piece->lifetime == TIDE_NONE) {
            part->n_pieces++;
            part->largest_bytes = (int64_t)piece->n_bytes > part->largest_bytes
                                      ? (int64_t)piece->n_bytes
                                      : part->largest_bytes;
        }
    }
}

static tide_status count_segments(counter *of) {
    for (size_t i = 0; i < of->layout->n_segments; i++) {
        const tide_layout_segment *segment = &of->layout->segments[i];
        tide_reserved_kind kind = kind_of(of, segment);
        tide_reserved_part *part = &of->to->parts[kind];
        part->total_bytes += (int64_t)segment->total_bytes;
        part->free_bytes += (int64_t)segment->cached_bytes;
        of->to->bytes += (int64_t)segment->total_bytes;
        count_pieces(of, part, segment);
        TIDE_TRY(count_owner(of, kind, segment));
        TIDE_TRY(count_buyer(of, kind, segment));
    }
    for (size_t kind = 0; kind < TIDE_N_RESERVED; kind++) {
        int64_t most = 0;
        for (size_t i = 0; i < of->n_buyers; i++) {
            if (of->buyers[i].free_bytes[kind] > most) {
                most = of->buyers[i].free_bytes[kind];
                of->to->parts[kind].line = of->buyers[i].node;
            }
        }
    }
    return TIDE_OK;
}

tide_status tide_reserved_at(const tide_stack_facts *stacks, const tide_lifetimes *lifetimes,
                             size_t device, int64_t event, tide_reserved *ret_reserved) {
    const tide_instant at = {device, event};
    tide_layout layout;
    tide_error ignored = {""};
    *ret_reserved = (tide_reserved){.event = event};
    for (size_t kind = 0; kind < TIDE_N_RESERVED; kind++) {
        ret_reserved->parts[kind].line = TIDE_NONE;
    }
    TIDE_TRY(tide_layout_init(&layout, stacks->snapshot, lifetimes, &at, &ignored));
    counter of = {.stacks = stacks, .layout = &layout, .to = ret_reserved};
    tide_map_init(&of.stack_of, stacks->mem);
    tide_map_init(&of.owners, stacks->mem);
    tide_map_init(&of.index_of, stacks->mem);
    const tide_account *account = &layout.account;
    ret_reserved->allocated_bytes =
        account->asked_bytes + account->rounding_bytes + account->unsplit_bytes;
    ret_reserved->pending_bytes = account->pending_bytes;
    tide_status status = find_buyers(&of, device, event);
    if (status == TIDE_OK) {
        status = count_segments(&of);
    }
    tide_map_fini(&of.stack_of);
    tide_map_fini(&of.owners);
    tide_map_fini(&of.index_of);
    stacks->mem->release(stacks->mem->ctx, of.buyers);
    tide_layout_fini(&layout);
    return status;
}

tide_status tide_reserved_most(const tide_stack_facts *stacks, const tide_lifetimes *lifetimes,
                               size_t device, int64_t *ret_event) {
    const tide_snapshot *snapshot = stacks->snapshot;
    const tide_hostmem *mem = stacks->mem;
    int64_t *changes = tide_lifetimes_changes(lifetimes, snapshot->n_events, device, false);
    if (changes == NULL) {
        return TIDE_NO_MEMORY;
    }
    const tide_instant start = {device, -1};
    tide_totals now = {0};
    tide_lifetimes_reserved_at(snapshot, &start, &now);
    int64_t most = now.reserved_bytes;
    int64_t allocated = changes[0];
    int64_t fullest = allocated;
    *ret_event = -1;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        allocated += changes[i + 1];
        if (snapshot->events.device[i] != device) {
            continue;
        }
        const tide_event row = tide_event_at(snapshot, i);
        if (tide_action_is_of_segment(row.action)) {
            (void)tide_walk_count_segment(&now, &row);
        }
        if (now.reserved_bytes > most || (now.reserved_bytes == most && allocated > fullest)) {
            most = now.reserved_bytes;
            fullest = allocated;
            *ret_event = (int64_t)i;
        }
    }
    mem->release(mem->ctx, changes);
    return TIDE_OK;
}

bool tide_reserved_is_spare(const tide_reserved *reserved) {
    int64_t spare = reserved->bytes - reserved->allocated_bytes;
    return spare > LEAST_SPARE_BYTES && spare > reserved->bytes / 100 * SPARE_PERCENT;
}
