/* The segments at one instant. Each row gives memory to a range of addresses or takes it away, and
 * the last row that covers an address decides. So the rows are painted from the last to the first,
 * each onto what is still bare. Every cell is painted once, which takes n log n time however the
 * ranges overlap; replaying the rows forwards could split ranges again and again. */
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/analysis/layout_internal.h"

/* A row that gives or takes memory. */
typedef struct stroke {
    uint64_t begin, end; /* addresses; begin < end */
    uint32_t pool_id[2]; /* of a private pool; 0, 0: of none, or not known */
    uint8_t stream;      /* index in the table of streams */
    uint8_t pool;        /* tide_segment_pool */
    bool is_expandable;  /* may join others of its kind */
    bool gives;          /* false: takes */
} stroke;

typedef struct painter {
    const tide_hostmem *mem; /* borrowed */
    stroke *strokes;         /* owned; in the order of rows */
    size_t n_strokes, capacity;
    uint64_t *edges; /* owned; distinct begins and ends, ascending; cells lie between */
    size_t n_edges;
    uint32_t *owners; /* owned; stroke of each cell, TIDE_NONE: bare */
    uint32_t *next;   /* owned; the first bare cell from each cell on, lazily */
} painter;

static tide_status add_stroke(painter *on, const stroke *added) {
    TIDE_ASSERT(added->begin <= added->end);
    if (added->begin == added->end) {
        return TIDE_OK;
    }
    stroke *grown =
        tide_hostmem_grow(on->mem, on->strokes, &on->capacity, on->n_strokes + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    on->strokes = grown;
    on->strokes[on->n_strokes++] = *added;
    return TIDE_OK;
}

static tide_status collect_strokes(painter *on, const tide_snapshot *snapshot,
                                   const tide_instant *at) {
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        const tide_segment_row *row = &snapshot->start_segments[i];
        if (row->device == at->device) {
            stroke added = {.begin = row->address,
                            .end = row->address + row->total_bytes,
                            .pool_id = {row->pool_id[0], row->pool_id[1]},
                            .stream = row->stream,
                            .pool = row->pool,
                            .is_expandable = row->is_expandable,
                            .gives = true};
            TIDE_TRY(add_stroke(on, &added));
        }
    }
    for (int64_t i = 0; i <= at->event; i++) {
        if (!tide_action_is_of_segment(snapshot->events.action[i]) ||
            snapshot->events.device[i] != at->device) {
            continue;
        }
        const tide_event row = tide_event_at(snapshot, (size_t)i);
        stroke added = {.begin = row.address,
                        .end = row.address + row.block_bytes,
                        .stream = row.stream,
                        .is_expandable = row.action == TIDE_ACTION_SEGMENT_MAP,
                        .gives = tide_action_gives_segment(row.action)};
        uint16_t pool = snapshot->event_pool != NULL ? snapshot->event_pool[i] : 0;
        if (pool > 0) {
            memcpy(added.pool_id, snapshot->pools[pool - 1].id, sizeof(added.pool_id));
        }
        TIDE_TRY(add_stroke(on, &added));
    }
    return TIDE_OK;
}

static int by_value(const void *left, const void *right) {
    const uint64_t *a = left;
    const uint64_t *b = right;
    return *a < *b ? -1 : *a > *b;
}

static tide_status find_edges(painter *on) {
    on->edges = tide_hostmem_zeroed(on->mem, 2 * on->n_strokes, sizeof(*on->edges));
    on->owners = tide_hostmem_zeroed(on->mem, 2 * on->n_strokes, sizeof(*on->owners));
    on->next = tide_hostmem_zeroed(on->mem, 2 * on->n_strokes + 1, sizeof(*on->next));
    if (on->edges == NULL || on->owners == NULL || on->next == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < on->n_strokes; i++) {
        on->edges[2 * i] = on->strokes[i].begin;
        on->edges[2 * i + 1] = on->strokes[i].end;
    }
    qsort(on->edges, 2 * on->n_strokes, sizeof(*on->edges), by_value);
    for (size_t i = 0; i < 2 * on->n_strokes; i++) {
        if (on->n_edges == 0 || on->edges[i] != on->edges[on->n_edges - 1]) {
            on->edges[on->n_edges++] = on->edges[i];
        }
    }
    for (size_t i = 0; i < on->n_edges; i++) {
        on->owners[i] = TIDE_NONE;
        on->next[i] = (uint32_t)i;
    }
    return TIDE_OK;
}

/* The cell that begins at an edge. */
static uint32_t cell_of(const painter *on, uint64_t address) {
    size_t low = 0;
    size_t high = on->n_edges - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (on->edges[middle] < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    TIDE_ASSERT(on->edges[low] == address);
    return (uint32_t)low;
}

/* The first bare cell from this one on. The path is shortened on the way (as in union-find), so
 * that later searches are nearly constant. */
static uint32_t bare_from(painter *on, uint32_t cell) {
    while (on->next[cell] != cell) {
        on->next[cell] = on->next[on->next[cell]];
        cell = on->next[cell];
    }
    return cell;
}

static void paint(painter *on) {
    for (size_t i = on->n_strokes; i-- > 0;) {
        uint32_t end = cell_of(on, on->strokes[i].end);
        uint32_t cell = bare_from(on, cell_of(on, on->strokes[i].begin));
        while (cell < end) {
            TIDE_ASSERT(on->owners[cell] == TIDE_NONE);
            on->owners[cell] = (uint32_t)i;
            on->next[cell] = cell + 1;
            cell = bare_from(on, cell + 1);
        }
    }
}

/* The cell goes on with the segment: the same purchase, or mapped memory that joins. */
static bool joins(const painter *on, const tide_layout_segment *segment, uint32_t last_owner,
                  uint32_t owner, uint64_t address) {
    const stroke *by = &on->strokes[owner];
    if (segment->address + segment->total_bytes != address) {
        return false;
    }
    bool same_pool = segment->pool == by->pool || segment->pool == TIDE_SEGMENT_UNKNOWN ||
                     by->pool == TIDE_SEGMENT_UNKNOWN;
    bool same_id = segment->pool_id[0] == by->pool_id[0] && segment->pool_id[1] == by->pool_id[1];
    return owner == last_owner || (segment->is_expandable && by->is_expandable &&
                                   segment->stream == by->stream && same_pool && same_id);
}

static tide_status gather(const painter *on, tide_layout *layout) {
    layout->segments = tide_hostmem_zeroed(on->mem, on->n_edges, sizeof(*layout->segments));
    if (layout->segments == NULL) {
        return TIDE_NO_MEMORY;
    }
    uint32_t last_owner = TIDE_NONE;
    for (size_t i = 0; i + 1 < on->n_edges; i++) {
        uint32_t owner = on->owners[i];
        if (owner == TIDE_NONE || !on->strokes[owner].gives) {
            continue;
        }
        const stroke *by = &on->strokes[owner];
        TIDE_ASSERT(by->begin <= on->edges[i] && on->edges[i + 1] <= by->end);
        uint64_t n_bytes = on->edges[i + 1] - on->edges[i];
        if (layout->n_segments > 0 &&
            joins(on, &layout->segments[layout->n_segments - 1], last_owner, owner, on->edges[i])) {
            tide_layout_segment *grown = &layout->segments[layout->n_segments - 1];
            grown->total_bytes += n_bytes;
            grown->pool = grown->pool == TIDE_SEGMENT_UNKNOWN ? by->pool : grown->pool;
        } else {
            layout->segments[layout->n_segments++] =
                (tide_layout_segment){.address = on->edges[i],
                                      .total_bytes = n_bytes,
                                      .pool_id = {by->pool_id[0], by->pool_id[1]},
                                      .stream = by->stream,
                                      .pool = by->pool,
                                      .is_expandable = by->is_expandable};
        }
        last_owner = owner;
    }
    return TIDE_OK;
}

/* The segment at the address; NULL: there is none. */
static tide_layout_segment *segment_at(const tide_layout *layout, uint64_t address) {
    size_t low = 0;
    size_t high = layout->n_segments;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (layout->segments[middle].address < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_there = low < layout->n_segments && layout->segments[low].address == address;
    return is_there ? &layout->segments[low] : NULL;
}

/* Whether memory is bought at the address after the instant: what is there at the end is then
 * another segment, which may belong to another pool. */
static bool is_bought_later(const tide_snapshot *snapshot, const tide_instant *at,
                            uint64_t address) {
    for (size_t i = (size_t)(at->event + 1); i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.address == address && row.device == at->device &&
            tide_action_gives_segment(row.action)) {
            return true;
        }
    }
    return false;
}

/* What the end of the recording says about the pool of segments whose purchase was seen. */
static void find_pools(tide_layout *layout, const tide_snapshot *snapshot, const tide_instant *at) {
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        const tide_segment_row *row = &snapshot->end_segments[i];
        bool is_private = row->pool_id[0] != 0 || row->pool_id[1] != 0;
        tide_layout_segment *segment = segment_at(layout, row->address);
        if (row->device != at->device || segment == NULL ||
            (is_private && is_bought_later(snapshot, at, row->address))) {
            continue;
        }
        if (segment->pool == TIDE_SEGMENT_UNKNOWN) {
            segment->pool = row->pool;
        }
        if (segment->pool_id[0] == 0 && segment->pool_id[1] == 0) {
            memcpy(segment->pool_id, row->pool_id, sizeof(row->pool_id));
        }
    }
}

tide_status tide_layout_find_segments(tide_layout *layout, const tide_snapshot *snapshot,
                                      const tide_instant *at) {
    painter on = {.mem = layout->mem};
    tide_status status = collect_strokes(&on, snapshot, at);
    if (status == TIDE_OK && on.n_strokes > 0) {
        status = on.n_strokes < TIDE_NONE / 2 ? find_edges(&on) : TIDE_LIMIT;
        if (status == TIDE_OK) {
            paint(&on);
            status = gather(&on, layout);
        }
    }
    if (status == TIDE_OK) {
        find_pools(layout, snapshot, at);
    }
    on.mem->release(on.mem->ctx, on.strokes);
    on.mem->release(on.mem->ctx, on.edges);
    on.mem->release(on.mem->ctx, on.owners);
    on.mem->release(on.mem->ctx, on.next);
    return status;
}
