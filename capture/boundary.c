/* boundary.c - segments and blocks at one end of the event table, from those at the other end and
 * the events between. Only segments and live blocks are followed; the gaps between them are free
 * blocks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_internal.h"
#include "common/map.h"

typedef struct live_block {
    uint64_t address;
    tide_block_row row; /* its offset_bytes is set at the end */
} live_block;

typedef struct walker {
    const tide_hostmem *mem;    /* borrowed */
    tide_segment_row *segments; /* owned, in no order */
    size_t n_segments;
    size_t segments_capacity;
    live_block *blocks; /* owned, in no order */
    size_t n_blocks;
    size_t blocks_capacity;
    tide_map segment_at;   /* address -> index in segments */
    tide_mapped_runs runs; /* the expandable segments, which are not among the others */
    tide_map block_at;     /* address -> index in blocks */
    bool is_lenient;       /* skip and count rows that do not fit, instead of failing */
    size_t n_unfit;        /* blocks that were dropped from a layout */
} walker;

static void walker_init(walker *w, const tide_hostmem *mem) {
    *w = (walker){.mem = mem};
    tide_map_init(&w->segment_at, mem);
    tide_map_init(&w->block_at, mem);
    tide_mapped_runs_init(&w->runs, mem);
}

static void walker_fini(walker *w) {
    tide_map_fini(&w->segment_at);
    tide_map_fini(&w->block_at);
    tide_mapped_runs_fini(&w->runs);
    w->mem->release(w->mem->ctx, w->segments);
    w->mem->release(w->mem->ctx, w->blocks);
}

/* TIDE_INVALID if a segment already begins at this address. */
static tide_status add_segment(walker *w, tide_segment_row segment) {
    if (tide_map_find(&w->segment_at, segment.address, NULL)) {
        return TIDE_INVALID;
    }
    tide_segment_row *segments = tide_hostmem_grow(w->mem, w->segments, &w->segments_capacity,
                                                   w->n_segments + 1, sizeof(*segments));
    if (segments == NULL) {
        return TIDE_NO_MEMORY;
    }
    w->segments = segments;
    TIDE_TRY(tide_map_put(&w->segment_at, segment.address, w->n_segments));
    segments[w->n_segments++] = segment;
    return TIDE_OK;
}

/* TIDE_INVALID if no segment begins at this address. */
static tide_status remove_segment(walker *w, uint64_t address) {
    uint64_t index = 0;
    if (!tide_map_find(&w->segment_at, address, &index)) {
        return TIDE_INVALID;
    }
    tide_map_remove(&w->segment_at, address);
    size_t last = --w->n_segments;
    if (index != last) { /* order does not matter here, so the last one fills the gap */
        w->segments[index] = w->segments[last];
        return tide_map_put(&w->segment_at, w->segments[index].address, index);
    }
    return TIDE_OK;
}

static tide_status add_block(walker *w, live_block block) {
    if (tide_map_find(&w->block_at, block.address, NULL)) {
        return TIDE_INVALID;
    }
    live_block *blocks =
        tide_hostmem_grow(w->mem, w->blocks, &w->blocks_capacity, w->n_blocks + 1, sizeof(*blocks));
    if (blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    w->blocks = blocks;
    TIDE_TRY(tide_map_put(&w->block_at, block.address, w->n_blocks));
    blocks[w->n_blocks++] = block;
    return TIDE_OK;
}

static tide_status remove_block(walker *w, uint64_t address) {
    uint64_t index = 0;
    if (!tide_map_find(&w->block_at, address, &index)) {
        return TIDE_INVALID;
    }
    tide_map_remove(&w->block_at, address);
    size_t last = --w->n_blocks;
    if (index != last) {
        w->blocks[index] = w->blocks[last];
        return tide_map_put(&w->block_at, w->blocks[index].address, index);
    }
    return TIDE_OK;
}

static tide_status set_state(walker *w, uint64_t address, tide_block_state state) {
    uint64_t index = 0;
    if (!tide_map_find(&w->block_at, address, &index)) {
        return TIDE_INVALID;
    }
    w->blocks[index].row.state = (uint8_t)state;
    return TIDE_OK;
}

static tide_segment_row segment_of(const tide_event *event) {
    return (tide_segment_row){.address = event->address,
                              .total_bytes = event->block_bytes,
                              .device = event->device,
                              .stream = event->stream};
}

static live_block block_of(const tide_event *event, tide_block_state state) {
    return (live_block){.address = event->address,
                        .row = {.block_bytes = event->block_bytes,
                                .requested_bytes = event->requested_bytes,
                                .stack = event->stack,
                                .scope = event->scope,
                                .name = event->name,
                                .state = (uint8_t)state,
                                .category = event->category}};
}

static tide_status apply(walker *w, const tide_event *event) {
    const tide_segment_row segment = segment_of(event);
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        return add_block(w, block_of(event, TIDE_BLOCK_ALLOCATED));
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_COMPLETED:
        return remove_block(w, event->address);
    case TIDE_ACTION_FREE_REQUESTED:
        return set_state(w, event->address, TIDE_BLOCK_PENDING_FREE);
    case TIDE_ACTION_SEGMENT_ALLOC:
        return add_segment(w, segment);
    case TIDE_ACTION_SEGMENT_FREE:
        return remove_segment(w, event->address);
    case TIDE_ACTION_SEGMENT_MAP:
        return tide_mapped_runs_add(&w->runs, &segment);
    case TIDE_ACTION_SEGMENT_UNMAP:
        return tide_mapped_runs_remove(&w->runs, &segment);
    default:
        return TIDE_OK;
    }
}

/* Undoes a free. The row has the stack and scope of the free itself, so those of the allocation are
 * unknown for now; recall fills them in if the log kept them. */
static tide_status put_back(walker *w, const tide_event *event, tide_block_state state) {
    live_block block = block_of(event, state);
    block.row.stack = TIDE_NONE;
    block.row.scope = TIDE_NONE;
    return add_block(w, block);
}

static tide_status take_back(walker *w, const tide_event *event) {
    const tide_segment_row segment = segment_of(event);
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        return remove_block(w, event->address);
    case TIDE_ACTION_FREE:
        return put_back(w, event, TIDE_BLOCK_ALLOCATED);
    case TIDE_ACTION_FREE_COMPLETED:
        return put_back(w, event, TIDE_BLOCK_PENDING_FREE);
    case TIDE_ACTION_FREE_REQUESTED:
        return set_state(w, event->address, TIDE_BLOCK_ALLOCATED);
    case TIDE_ACTION_SEGMENT_ALLOC:
        return remove_segment(w, event->address);
    case TIDE_ACTION_SEGMENT_FREE:
        return add_segment(w, segment);
    case TIDE_ACTION_SEGMENT_MAP:
        return tide_mapped_runs_remove(&w->runs, &segment);
    case TIDE_ACTION_SEGMENT_UNMAP:
        return tide_mapped_runs_add(&w->runs, &segment);
    default:
        return TIDE_OK;
    }
}

static tide_status load(walker *w, const tide_boundary *boundary) {
    for (size_t s = 0; s < boundary->n_segments; s++) {
        const tide_segment_row *segment = &boundary->segments[s];
        TIDE_TRY(segment->is_expandable ? tide_mapped_runs_add(&w->runs, segment)
                                        : add_segment(w, *segment));
        for (size_t i = 0; i < segment->n_blocks; i++) {
            const tide_block_row *row = &boundary->blocks[segment->first_block + i];
            if (row->state != TIDE_BLOCK_FREE) {
                TIDE_TRY(add_block(w, (live_block){segment->address + row->offset_bytes, *row}));
            }
        }
    }
    return TIDE_OK;
}

static int compare_segments(const void *a, const void *b) {
    uint64_t left = ((const tide_segment_row *)a)->address;
    uint64_t right = ((const tide_segment_row *)b)->address;
    return (left > right) - (left < right);
}

static int compare_blocks(const void *a, const void *b) {
    uint64_t left = ((const live_block *)a)->address;
    uint64_t right = ((const live_block *)b)->address;
    return (left > right) - (left < right);
}

static void add_free(tide_boundary *to, uint64_t offset_bytes, uint64_t block_bytes) {
    if (block_bytes > 0) {
        to->blocks[to->n_blocks++] = (tide_block_row){.offset_bytes = offset_bytes,
                                                      .block_bytes = block_bytes,
                                                      .stack = TIDE_NONE,
                                                      .scope = TIDE_NONE,
                                                      .name = TIDE_NONE,
                                                      .state = TIDE_BLOCK_FREE};
    }
}

/* Writes the live blocks from *next on that are in the segment, and free blocks for the gaps. Both
 * lists are sorted by address, so one walk over all segments sees every block once. */
static tide_status tile(walker *w, tide_segment_row *segment, size_t *next, tide_boundary *to) {
    uint64_t used_bytes = 0; /* from the segment's address */
    segment->first_block = to->n_blocks;
    while (w->is_lenient && *next < w->n_blocks && w->blocks[*next].address < segment->address) {
        (*next)++; /* a block outside all segments */
        w->n_unfit++;
    }
    while (*next < w->n_blocks &&
           w->blocks[*next].address - segment->address < segment->total_bytes) {
        tide_block_row row = w->blocks[*next].row;
        row.offset_bytes = w->blocks[*next].address - segment->address;
        if (row.offset_bytes < used_bytes ||
            row.block_bytes > segment->total_bytes - row.offset_bytes) {
            if (!w->is_lenient) {
                return TIDE_INVALID;
            }
            (*next)++;
            w->n_unfit++;
            continue;
        }
        add_free(to, used_bytes, row.offset_bytes - used_bytes);
        to->blocks[to->n_blocks++] = row;
        used_bytes = row.offset_bytes + row.block_bytes;
        (*next)++;
    }
    add_free(to, used_bytes, segment->total_bytes - used_bytes);
    segment->n_blocks = to->n_blocks - segment->first_block;
    return TIDE_OK;
}

static tide_status lay_out(walker *w, tide_arena *arena, tide_boundary *ret_boundary) {
    for (size_t i = 0; i < w->runs.n_runs; i++) {
        tide_status status = add_segment(w, w->runs.runs[i]);
        if (status != TIDE_INVALID || !w->is_lenient) {
            TIDE_TRY(status);
        }
    }
    if (w->n_segments > 0) {
        qsort(w->segments, w->n_segments, sizeof(*w->segments), compare_segments);
    }
    if (w->n_blocks > 0) {
        qsort(w->blocks, w->n_blocks, sizeof(*w->blocks), compare_blocks);
    }
    size_t max_blocks =
        2 * w->n_blocks + w->n_segments; /* a gap before each, and one at each segment's end */
    tide_boundary to = {
        .segments = tide_arena_alloc(arena, w->n_segments, sizeof(*to.segments)),
        .blocks = tide_arena_alloc(arena, max_blocks, sizeof(*to.blocks)),
    };
    if (to.segments == NULL || to.blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t next = 0;
    for (size_t s = 0; s < w->n_segments; s++) {
        to.segments[s] = w->segments[s];
        TIDE_TRY(tile(w, &to.segments[s], &next, &to));
    }
    to.n_segments = w->n_segments;
    if (next < w->n_blocks && !w->is_lenient) {
        return TIDE_INVALID; /* a block outside all segments */
    }
    w->n_unfit += w->n_blocks - next;
    *ret_boundary = to;
    return TIDE_OK;
}

static tide_status explain(tide_status status, const tide_event *event, size_t row,
                           tide_error *error) {
    if (status == TIDE_NO_MEMORY) {
        return tide_fail(error, status, "no host memory for the segments of a snapshot");
    }
    if (event == NULL) {
        return tide_fail(error, status,
                         "the events do not fit the blocks of the cache; was the recorder used by "
                         "another cache too? A snapshot needs a recorder of its own");
    }
    return tide_fail(error, status,
                     "event %zu (%s at 0x%" PRIx64 ") does not fit the blocks of the cache; was "
                     "the recorder used by another cache too? A snapshot needs a recorder of its "
                     "own",
                     row, tide_action_name(event->action), event->address);
}

/* Gives the blocks the stacks and scopes of their allocations, from the rows of the base. */
static tide_status recall(const tide_boundary *start, const tide_event *base, size_t n_base,
                          const tide_hostmem *mem) {
    tide_map at; /* address -> row of the base */
    tide_status status = TIDE_OK;
    tide_map_init(&at, mem);
    for (size_t i = 0; i < n_base && status == TIDE_OK; i++) {
        if (base[i].action < TIDE_ACTION_SEGMENT_ALLOC) {
            status = tide_map_put(&at, base[i].address, i);
        }
    }
    for (size_t s = 0; s < start->n_segments && status == TIDE_OK; s++) {
        const tide_segment_row *segment = &start->segments[s];
        for (size_t i = 0; i < segment->n_blocks; i++) {
            tide_block_row *block = &start->blocks[segment->first_block + i];
            uint64_t row = 0;
            if (block->state != TIDE_BLOCK_FREE &&
                tide_map_find(&at, segment->address + block->offset_bytes, &row)) {
                block->stack = base[row].stack;
                block->scope = base[row].scope;
            }
        }
    }
    tide_map_fini(&at);
    return status;
}

tide_status tide_boundary_before(const tide_boundary *end, const tide_event *events,
                                 size_t n_events, const tide_event *base, size_t n_base,
                                 tide_arena *arena, tide_boundary *ret_start, tide_error *error) {
    walker w;
    walker_init(&w, arena->mem);
    const tide_event *at = NULL;
    tide_boundary start;
    tide_status status = load(&w, end);
    for (size_t i = n_events; i > 0 && status == TIDE_OK; i--) {
        at = &events[i - 1];
        status = take_back(&w, at);
    }
    if (status == TIDE_OK) {
        at = NULL;
        status = lay_out(&w, arena, &start);
    }
    if (status == TIDE_OK) {
        status = recall(&start, base, n_base, arena->mem);
    }
    walker_fini(&w);
    if (status != TIDE_OK) {
        return explain(status, at, at == NULL ? 0 : (size_t)(at - events), error);
    }
    *ret_start = start;
    return TIDE_OK;
}

/* Enters the state before the first event. */
static tide_status enter(walker *w, const tide_event *base, size_t n_base) {
    for (size_t i = 0; i < n_base; i++) {
        const tide_event *row = &base[i];
        bool is_pending = row->action == TIDE_ACTION_FREE_REQUESTED;
        tide_status status =
            is_pending ? add_block(w, block_of(row, TIDE_BLOCK_PENDING_FREE)) : apply(w, row);
        if (status != TIDE_INVALID || !w->is_lenient) {
            TIDE_TRY(status);
        } else {
            w->n_unfit++;
        }
    }
    return TIDE_OK;
}

tide_status tide_boundary_after(const tide_event *base, size_t n_base, const tide_event *events,
                                size_t n_events, tide_arena *arena, tide_boundary *ret_start,
                                tide_boundary *ret_end, tide_error *error) {
    walker w;
    walker_init(&w, arena->mem);
    const tide_event *at = NULL;
    tide_boundary start;
    tide_status status = enter(&w, base, n_base);
    if (status == TIDE_OK) {
        status = lay_out(&w, arena, &start);
    }
    if (status == TIDE_OK) { /* the layout sorted the rows, which makes the maps' indices wrong */
        walker_fini(&w);
        walker_init(&w, arena->mem);
        status = load(&w, &start);
    }
    for (size_t i = 0; i < n_events && status == TIDE_OK; i++) {
        at = &events[i];
        status = apply(&w, at);
    }
    if (status == TIDE_OK) {
        at = NULL;
        status = lay_out(&w, arena, ret_end);
    }
    walker_fini(&w);
    if (status != TIDE_OK) {
        return explain(status, at, at == NULL ? 0 : (size_t)(at - events), error);
    }
    if (ret_start != NULL) {
        *ret_start = start;
    }
    return TIDE_OK;
}

struct tide_boundary_walk {
    walker walker;
    size_t n_unfit; /* blocks that were dropped from the start */
};

tide_status tide_boundary_walk_create(const tide_event *base, size_t n_base, tide_arena *arena,
                                      tide_boundary *ret_start, tide_boundary_walk **ret_walk) {
    tide_boundary_walk *walk = tide_hostmem_zeroed(arena->mem, 1, sizeof(*walk));
    if (walk == NULL) {
        return TIDE_NO_MEMORY;
    }
    walker *w = &walk->walker;
    walker_init(w, arena->mem);
    w->is_lenient = true;
    tide_status status = enter(w, base, n_base);
    status = status == TIDE_OK ? lay_out(w, arena, ret_start) : status;
    walk->n_unfit = w->n_unfit;
    walker_fini(w); /* the layout sorted the rows, which makes the maps' indices wrong */
    walker_init(w, arena->mem);
    w->is_lenient = true;
    status = status == TIDE_OK ? load(w, ret_start) : status;
    if (status != TIDE_OK) {
        tide_boundary_walk_destroy(walk);
        return status;
    }
    *ret_walk = walk;
    return TIDE_OK;
}

tide_status tide_boundary_walk_apply(tide_boundary_walk *walk, const tide_event *event) {
    return apply(&walk->walker, event);
}

tide_status tide_boundary_walk_finish(tide_boundary_walk *walk, tide_arena *arena,
                                      tide_boundary *ret_end, size_t *ret_n_unfit) {
    TIDE_TRY(lay_out(&walk->walker, arena, ret_end));
    *ret_n_unfit = walk->n_unfit + walk->walker.n_unfit;
    return TIDE_OK;
}

void tide_boundary_walk_destroy(tide_boundary_walk *walk) {
    if (walk != NULL) {
        const tide_hostmem *mem = walk->walker.mem;
        walker_fini(&walk->walker);
        mem->release(mem->ctx, walk);
    }
}

/* Applies the events and keeps those that fit the state before them. */
static tide_status apply_fitting(tide_boundary_walk *walk, tide_event *events, size_t *n_events,
                                 size_t *kept) {
    size_t n_kept = 0;
    for (size_t i = 0; i < *n_events; i++) {
        tide_status status = tide_boundary_walk_apply(walk, &events[i]);
        if (status == TIDE_OK) {
            kept[n_kept] = i;
            events[n_kept++] = events[i];
        } else if (status != TIDE_INVALID) {
            return status;
        }
    }
    *n_events = n_kept;
    return TIDE_OK;
}

tide_status tide_boundary_make_fit(const tide_event *base, size_t n_base, tide_event *events,
                                   size_t *n_events, tide_arena *arena,
                                   tide_boundary_fit *ret_fit) {
    tide_boundary_walk *walk = NULL;
    size_t n_before = *n_events;
    size_t n_unfit = 0;
    ret_fit->kept = tide_arena_alloc(arena, n_before, sizeof(*ret_fit->kept));
    if (ret_fit->kept == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(tide_boundary_walk_create(base, n_base, arena, &ret_fit->start, &walk));
    tide_status status = apply_fitting(walk, events, n_events, ret_fit->kept);
    if (status == TIDE_OK) {
        status = tide_boundary_walk_finish(walk, arena, &ret_fit->end, &n_unfit);
    }
    ret_fit->n_unfit = n_unfit + n_before - *n_events;
    tide_boundary_walk_destroy(walk);
    return status;
}
