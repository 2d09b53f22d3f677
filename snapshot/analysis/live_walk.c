#include "snapshot/analysis/live_walk.h"

#include <stdlib.h>

#include "common/assert.h"
#include "common/map.h"

typedef struct device_state {
    tide_map alive;    /* address -> slot of the block, until its free completes */
    tide_map segments; /* address -> slot of the segment */
    tide_walk_device figures;
} device_state;

struct tide_live_walk {
    const tide_hostmem *mem;    /* borrowed */
    const tide_walk_sink *sink; /* borrowed */
    device_state *devices;      /* owned */
    size_t n_devices;
    tide_walk_block *blocks; /* owned; the first n_blocks are alive, in no order */
    size_t n_blocks;
    size_t blocks_capacity;
    tide_walk_segment *segments; /* owned; as blocks */
    size_t n_segments;
    size_t segments_capacity;
    uint64_t n_born; /* blocks so far */
    uint64_t n_segments_born;
    int64_t event;   /* the current event; -1: the start */
    int64_t time_ns; /* of it; -1 */
};

/* Adds to a total; fails on overflow. */
static tide_status add(int64_t *total, uint64_t n_bytes, tide_error *error) {
    TIDE_ASSERT(*total >= 0);
    if (n_bytes > (uint64_t)(INT64_MAX - *total)) {
        return tide_fail(error, TIDE_LIMIT, "the bytes alive at once exceed 2^63 - 1");
    }
    *total += (int64_t)n_bytes;
    return TIDE_OK;
}

static void note_maxima(tide_live_walk *walk, size_t device, uint32_t scope) {
    tide_walk_device *of = &walk->devices[device].figures;
    const int64_t values[TIDE_N_MAX] = {of->now.requested_bytes, of->now.allocated_bytes,
                                        of->now.active_bytes, of->now.reserved_bytes};
    for (int i = 0; i < TIDE_N_MAX; i++) {
        if (values[i] <= of->max[i].bytes) {
            continue;
        }
        of->max[i] = (tide_extreme){values[i], walk->event};
        if (i == TIDE_MAX_ALLOCATED) {
            of->at_peak = of->now;
            of->peak_ns = walk->time_ns;
            of->peak_scope = scope;
        }
    }
}

/* ---- blocks ---- */

static void stop_counting(tide_live_walk *walk, tide_walk_block *block) {
    tide_totals *now = &walk->devices[block->device].figures.now;
    TIDE_ASSERT(block->freed == TIDE_WALK_NEVER && now->n_blocks > 0);
    TIDE_ASSERT(now->allocated_bytes >= (int64_t)block->block_bytes);
    now->allocated_bytes -= (int64_t)block->block_bytes;
    now->n_blocks--;
    block->freed = walk->event;
    block->freed_ns = walk->time_ns;
}

/* Passes the block to the sink and drops it; the last block moves to its slot. */
static tide_status forget(tide_live_walk *walk, size_t slot) {
    tide_walk_block *block = &walk->blocks[slot];
    device_state *device = &walk->devices[block->device];
    TIDE_ASSERT(slot < walk->n_blocks && block->freed != TIDE_WALK_NEVER);
    TIDE_ASSERT(device->figures.now.active_bytes >= (int64_t)block->block_bytes);
    TIDE_ASSERT(device->figures.now.requested_bytes >= (int64_t)block->requested_bytes);
    device->figures.now.active_bytes -= (int64_t)block->block_bytes;
    device->figures.now.requested_bytes -= (int64_t)block->requested_bytes;
    block->completed = walk->event;
    block->completed_ns = walk->time_ns;
    if (walk->sink->block != NULL) {
        TIDE_TRY(walk->sink->block(walk->sink->ctx, block));
    }
    tide_map_remove(&device->alive, block->address);
    size_t last = --walk->n_blocks;
    if (slot == last) {
        return TIDE_OK;
    }
    *block = walk->blocks[last];
    return tide_map_put(&walk->devices[block->device].alive, block->address, slot);
}

static tide_status be_born(tide_live_walk *walk, const tide_walk_block *born, tide_error *error) {
    device_state *device = &walk->devices[born->device];
    tide_totals *now = &device->figures.now;
    uint64_t other = 0;
    if (tide_map_find(&device->alive, born->address, &other)) {
        device->figures.n_unmatched++;
        if (walk->blocks[other].freed == TIDE_WALK_NEVER) {
            stop_counting(walk, &walk->blocks[other]);
        }
        TIDE_TRY(forget(walk, (size_t)other));
    }
    TIDE_TRY(add(&now->requested_bytes, born->requested_bytes, error));
    TIDE_TRY(add(&now->active_bytes, born->block_bytes, error));
    if (born->freed == TIDE_WALK_NEVER) {
        TIDE_TRY(add(&now->allocated_bytes, born->block_bytes, error));
        now->n_blocks++;
    }
    tide_walk_block *blocks = tide_hostmem_grow(walk->mem, walk->blocks, &walk->blocks_capacity,
                                                walk->n_blocks + 1, sizeof(*blocks));
    if (blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    walk->blocks = blocks;
    blocks[walk->n_blocks] = *born;
    blocks[walk->n_blocks].number = walk->n_born++;
    TIDE_TRY(tide_map_put(&device->alive, born->address, walk->n_blocks));
    walk->n_blocks++;
    return TIDE_OK;
}

static tide_status alloc_row(tide_live_walk *walk, const tide_event *event, uint8_t certainty,
                             int64_t *ret_block, tide_error *error) {
    const tide_walk_block born = {.address = event->address,
                                  .requested_bytes = event->requested_bytes,
                                  .block_bytes = event->block_bytes,
                                  .born = walk->event,
                                  .freed = TIDE_WALK_NEVER,
                                  .completed = TIDE_WALK_NEVER,
                                  .born_ns = event->time_ns,
                                  .freed_ns = -1,
                                  .completed_ns = -1,
                                  .stack = event->stack,
                                  .scope = event->scope,
                                  .name = event->name,
                                  .category = event->category,
                                  .certainty = certainty,
                                  .device = event->device,
                                  .stream = event->stream};
    *ret_block = (int64_t)walk->n_born;
    TIDE_TRY(be_born(walk, &born, error));
    note_maxima(walk, event->device, event->scope);
    return TIDE_OK;
}

static tide_status free_row(tide_live_walk *walk, const tide_event *event, int64_t *ret_block) {
    device_state *device = &walk->devices[event->device];
    uint64_t slot = 0;
    if (!tide_map_find(&device->alive, event->address, &slot)) {
        device->figures.n_unmatched++;
        return TIDE_OK;
    }
    tide_walk_block *block = &walk->blocks[slot];
    TIDE_ASSERT(slot < walk->n_blocks && block->address == event->address);
    *ret_block = (int64_t)block->number;
    if (block->freed == TIDE_WALK_NEVER) {
        stop_counting(walk, block);
    }
    return event->action != TIDE_ACTION_FREE_REQUESTED ? forget(walk, (size_t)slot) : TIDE_OK;
}

/* ---- segments ---- */

static tide_status end_segment(tide_live_walk *walk, size_t slot) {
    tide_walk_segment *segment = &walk->segments[slot];
    TIDE_ASSERT(walk->sink->segment != NULL && slot < walk->n_segments);
    segment->gone = walk->event;
    segment->gone_ns = walk->time_ns;
    TIDE_TRY(walk->sink->segment(walk->sink->ctx, segment));
    tide_map_remove(&walk->devices[segment->device].segments, segment->address);
    size_t last = --walk->n_segments;
    if (slot == last) {
        return TIDE_OK;
    }
    *segment = walk->segments[last];
    return tide_map_put(&walk->devices[segment->device].segments, segment->address, slot);
}

static tide_status begin_segment(tide_live_walk *walk, tide_walk_segment born) {
    tide_map *at = &walk->devices[born.device].segments;
    uint64_t other = 0;
    if (tide_map_find(at, born.address, &other)) {
        TIDE_TRY(end_segment(walk, (size_t)other));
    }
    tide_walk_segment *segments =
        tide_hostmem_grow(walk->mem, walk->segments, &walk->segments_capacity, walk->n_segments + 1,
                          sizeof(*segments));
    if (segments == NULL) {
        return TIDE_NO_MEMORY;
    }
    walk->segments = segments;
    born.number = walk->n_segments_born++;
    born.born = walk->event;
    born.born_ns = walk->time_ns;
    born.gone = TIDE_WALK_NEVER;
    born.gone_ns = -1;
    segments[walk->n_segments] = born;
    TIDE_TRY(tide_map_put(at, born.address, walk->n_segments));
    walk->n_segments++;
    return TIDE_OK;
}

/* Keeps the rest of a piece on either side of the part that was unmapped. */
static tide_status keep_rest(tide_live_walk *walk, tide_walk_segment whole, uint64_t begin,
                             uint64_t end) {
    tide_walk_segment rest = whole;
    if (whole.address < begin) {
        rest.total_bytes = begin - whole.address;
        TIDE_TRY(begin_segment(walk, rest));
    }
    if (whole.address + whole.total_bytes > end) {
        rest.address = end;
        rest.total_bytes = whole.address + whole.total_bytes - end;
        TIDE_TRY(begin_segment(walk, rest));
    }
    return TIDE_OK;
}

static bool is_cut(const tide_walk_segment *piece, const tide_event *event) {
    return piece->is_expandable && piece->device == event->device &&
           piece->address < event->address + event->block_bytes &&
           event->address < piece->address + piece->total_bytes;
}

/* An event may unmap any part of any pieces. Most unmap whole pieces, which the map finds. */
static tide_status unmap(tide_live_walk *walk, const tide_event *event) {
    uint64_t slot = 0;
    if (tide_map_find(&walk->devices[event->device].segments, event->address, &slot) &&
        walk->segments[slot].total_bytes == event->block_bytes) {
        return end_segment(walk, (size_t)slot);
    }
    size_t n_before = walk->n_segments;
    for (size_t i = n_before; i > 0; i--) {
        const tide_walk_segment whole = walk->segments[i - 1];
        if (is_cut(&whole, event)) {
            TIDE_TRY(end_segment(walk, i - 1));
            TIDE_TRY(keep_rest(walk, whole, event->address, event->address + event->block_bytes));
        }
    }
    return TIDE_OK;
}

static bool is_too_much(const tide_totals *now, const tide_event *event) {
    return tide_action_gives_segment(event->action) &&
           event->block_bytes > (uint64_t)(INT64_MAX - now->reserved_bytes);
}

bool tide_walk_count_segment(tide_totals *now, const tide_event *event) {
    TIDE_ASSERT(tide_action_is_of_segment(event->action));
    bool is_whole =
        event->action == TIDE_ACTION_SEGMENT_ALLOC || event->action == TIDE_ACTION_SEGMENT_FREE;
    int64_t sign = tide_action_gives_segment(event->action) ? 1 : -1;
    if (is_too_much(now, event) ||
        (sign < 0 && event->block_bytes > (uint64_t)now->reserved_bytes)) {
        return false;
    }
    now->reserved_bytes += sign * (int64_t)event->block_bytes;
    now->n_segments += is_whole ? sign : 0;
    return true;
}

/* Begins, ends or cuts the pieces of the event. */
static tide_status follow_segment(tide_live_walk *walk, const tide_event *event) {
    uint64_t slot = 0;
    if (tide_action_gives_segment(event->action)) {
        const tide_walk_segment born = {.address = event->address,
                                        .total_bytes = event->block_bytes,
                                        .is_expandable = event->action == TIDE_ACTION_SEGMENT_MAP,
                                        .device = event->device,
                                        .stream = event->stream};
        return begin_segment(walk, born);
    }
    if (event->action == TIDE_ACTION_SEGMENT_UNMAP) {
        return unmap(walk, event);
    }
    return tide_map_find(&walk->devices[event->device].segments, event->address, &slot)
               ? end_segment(walk, (size_t)slot)
               : TIDE_OK;
}

static tide_status segment_row(tide_live_walk *walk, const tide_event *event, tide_error *error) {
    tide_walk_device *figures = &walk->devices[event->device].figures;
    if (is_too_much(&figures->now, event)) {
        return tide_fail(error, TIDE_LIMIT, "the bytes alive at once exceed 2^63 - 1");
    }
    figures->n_unmatched += !tide_walk_count_segment(&figures->now, event);
    if (walk->sink->segment != NULL) {
        TIDE_TRY(follow_segment(walk, event));
    }
    if (tide_action_gives_segment(event->action)) {
        note_maxima(walk, event->device, event->scope);
    }
    return TIDE_OK;
}

/* ---- the walk ---- */

tide_status tide_live_walk_event(tide_live_walk *walk, const tide_event *event, uint8_t certainty,
                                 int64_t *ret_block, tide_error *error) {
    TIDE_ASSERT(event->device < walk->n_devices && event->action < TIDE_N_ACTIONS);
    walk->event++;
    walk->time_ns = event->time_ns;
    walk->devices[event->device].figures.counts[event->action]++;
    *ret_block = -1;
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        return alloc_row(walk, event, certainty, ret_block, error);
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_REQUESTED:
    case TIDE_ACTION_FREE_COMPLETED:
        return free_row(walk, event, ret_block);
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_MAP:
    case TIDE_ACTION_SEGMENT_UNMAP:
        return segment_row(walk, event, error);
    default:
        return TIDE_OK;
    }
}

static tide_status start_block(tide_live_walk *walk, const tide_snapshot *document,
                               const tide_segment_row *segment, size_t number, tide_error *error) {
    const tide_block_row *block = &document->start_blocks[number];
    const uint8_t *certainties = document->start_block_certainty;
    if (block->state == TIDE_BLOCK_FREE) {
        return TIDE_OK;
    }
    const tide_walk_block born = {
        .address = segment->address + block->offset_bytes,
        .requested_bytes = block->requested_bytes,
        .block_bytes = block->block_bytes,
        .born = -1,
        .freed = block->state == TIDE_BLOCK_PENDING_FREE ? -1 : TIDE_WALK_NEVER,
        .completed = TIDE_WALK_NEVER,
        .born_ns = -1,
        .freed_ns = -1,
        .completed_ns = -1,
        .stack = block->stack,
        .scope = block->scope,
        .name = block->name,
        .category = block->category,
        .certainty = certainties != NULL ? certainties[number] : TIDE_CERTAINTY_UNKNOWN,
        .device = segment->device,
        .stream = segment->stream};
    return be_born(walk, &born, error);
}

static tide_status start(tide_live_walk *walk, const tide_snapshot *document, tide_error *error) {
    for (size_t i = 0; i < document->n_start_segments; i++) {
        const tide_segment_row *segment = &document->start_segments[i];
        tide_totals *now = &walk->devices[segment->device].figures.now;
        TIDE_TRY(add(&now->reserved_bytes, segment->total_bytes, error));
        now->n_segments += segment->is_expandable ? 0 : 1;
        const tide_walk_segment born = {.address = segment->address,
                                        .total_bytes = segment->total_bytes,
                                        .is_expandable = segment->is_expandable,
                                        .device = segment->device,
                                        .stream = segment->stream};
        if (walk->sink->segment != NULL) {
            TIDE_TRY(begin_segment(walk, born));
        }
        for (size_t j = 0; j < segment->n_blocks; j++) {
            TIDE_TRY(start_block(walk, document, segment, segment->first_block + j, error));
        }
    }
    for (size_t i = 0; i < walk->n_devices; i++) {
        tide_walk_device *of = &walk->devices[i].figures;
        of->at_peak = of->now;
        of->peak_ns = -1;
        for (int j = 0; j < TIDE_N_MAX; j++) {
            of->max[j] = (tide_extreme){-1, -1};
        }
        note_maxima(walk, i, TIDE_NONE);
    }
    return TIDE_OK;
}

tide_status tide_live_walk_create(const tide_snapshot *document, const tide_walk_sink *sink,
                                  const tide_hostmem *mem, tide_live_walk **ret_walk,
                                  tide_error *error) {
    tide_live_walk *walk = tide_hostmem_zeroed(mem, 1, sizeof(*walk));
    if (walk == NULL) {
        return TIDE_NO_MEMORY;
    }
    walk->mem = mem;
    walk->sink = sink;
    walk->event = -1;
    walk->time_ns = -1;
    walk->devices = tide_hostmem_zeroed(mem, document->n_devices, sizeof(*walk->devices));
    tide_status status = walk->devices != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    walk->n_devices = status == TIDE_OK ? document->n_devices : 0;
    for (size_t i = 0; i < walk->n_devices; i++) {
        tide_map_init(&walk->devices[i].alive, mem);
        tide_map_init(&walk->devices[i].segments, mem);
    }
    status = status == TIDE_OK ? start(walk, document, error) : status;
    if (status != TIDE_OK) {
        tide_live_walk_destroy(walk);
        return status;
    }
    *ret_walk = walk;
    return TIDE_OK;
}

void tide_live_walk_destroy(tide_live_walk *walk) {
    if (walk == NULL) {
        return;
    }
    const tide_hostmem *mem = walk->mem;
    for (size_t i = 0; i < walk->n_devices; i++) {
        tide_map_fini(&walk->devices[i].alive);
        tide_map_fini(&walk->devices[i].segments);
    }
    mem->release(mem->ctx, walk->devices);
    mem->release(mem->ctx, walk->blocks);
    mem->release(mem->ctx, walk->segments);
    mem->release(mem->ctx, walk);
}

/* Blocks and segments begin with their numbers. */
static int by_number(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

tide_status tide_live_walk_finish(tide_live_walk *walk) {
    if (walk->n_blocks > 0) {
        qsort(walk->blocks, walk->n_blocks, sizeof(*walk->blocks), by_number);
    }
    if (walk->n_segments > 0) {
        qsort(walk->segments, walk->n_segments, sizeof(*walk->segments), by_number);
    }
    TIDE_ASSERT(walk->sink->segment != NULL || walk->n_segments == 0);
    for (size_t i = 0; walk->sink->block != NULL && i < walk->n_blocks; i++) {
        TIDE_TRY(walk->sink->block(walk->sink->ctx, &walk->blocks[i]));
    }
    for (size_t i = 0; i < walk->n_segments; i++) {
        TIDE_TRY(walk->sink->segment(walk->sink->ctx, &walk->segments[i]));
    }
    return TIDE_OK;
}

const tide_walk_device *tide_live_walk_device(const tide_live_walk *walk, size_t device) {
    return &walk->devices[device].figures;
}

const tide_walk_block *tide_live_walk_blocks(const tide_live_walk *walk, size_t *ret_n_blocks) {
    *ret_n_blocks = walk->n_blocks;
    return walk->blocks;
}

int64_t tide_live_walk_n_events(const tide_live_walk *walk) {
    return walk->event + 1;
}
