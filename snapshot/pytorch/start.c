/* The beginning and the end of a walk: allocating its arrays, and making the start state from the
 * remaining segments and blocks. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/pytorch/walk_internal.h"

enum { N_LATELY = 4096 }; /* addresses: 32 KiB, which stay in the cache */

/* One end of a piece of an expandable segment. */
typedef struct edge {
    uint64_t address;
    int change;                      /* of the number of pieces that cover the bytes after it */
    uint8_t stream;                  /* index in the table of streams */
    const tide_segment_row *segment; /* of the dump; NULL: of an event */
} edge;

static int compare_addresses(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int compare_ranges(const void *a, const void *b) {
    return compare_addresses(&((const tide_pytorch_range *)a)->begin,
                             &((const tide_pytorch_range *)b)->begin);
}

/* Edges at one address keep the order of the dump's segments, the last of which counts. */
static int compare_edges(const void *a, const void *b) {
    const edge *left = a;
    const edge *right = b;
    if (left->stream != right->stream) {
        return left->stream < right->stream ? -1 : 1;
    }
    if (left->address != right->address) {
        return left->address < right->address ? -1 : 1;
    }
    return ((uintptr_t)left->segment > (uintptr_t)right->segment) -
           ((uintptr_t)left->segment < (uintptr_t)right->segment);
}

/* Segments at one address contradict each other; sorts them in a fixed order. */
static int compare_segments(const void *a, const void *b) {
    const tide_segment_row *left = a;
    const tide_segment_row *right = b;
    if (left->address != right->address) {
        return left->address < right->address ? -1 : 1;
    }
    if (left->is_expandable != right->is_expandable) {
        return left->is_expandable ? -1 : 1;
    }
    return (left->stream > right->stream) - (left->stream < right->stream);
}

/* Upper bounds of the sizes of the walk's arrays. */
typedef struct census {
    size_t n_points, n_blocks, n_segments, n_pieces;
} census;

static bool is_map(uint8_t action) {
    return action == TIDE_ACTION_SEGMENT_MAP || action == TIDE_ACTION_SEGMENT_UNMAP;
}

static bool is_segment(uint8_t action) {
    return action == TIDE_ACTION_SEGMENT_ALLOC || action == TIDE_ACTION_SEGMENT_FREE;
}

static census count(const tide_pytorch_walk_state *w) {
    const tide_pytorch_import *in = w->in;
    census n = {0};
    for (size_t s = 0; s < in->end.n_segments; s++) {
        const tide_segment_row *segment = &in->end.segments[s];
        if (segment->device == w->device) {
            n.n_points += 2 + segment->n_blocks;
            n.n_blocks += segment->n_blocks;
            n.n_segments++;
            n.n_pieces += segment->is_expandable;
        }
    }
    for (size_t i = in->first_row[w->device]; i < in->first_row[w->device + 1]; i++) {
        n.n_points += 2;
        n.n_blocks += in->rows[i].action <= TIDE_ACTION_FREE_COMPLETED;
        n.n_segments += is_segment(in->rows[i].action);
        n.n_pieces += is_map(in->rows[i].action);
    }
    return n;
}

/* Most rows repeat an address of recent rows, which need not be sorted again. A repeated point does
 * no harm. */
static void add_point(tide_pytorch_walk_state *w, uint64_t *lately, uint64_t address) {
    uint64_t *last = &lately[tide_hash_u64(address) % N_LATELY]; /* + 1; 0: none */
    if (*last != address + 1) {
        w->points[w->n_points++] = address;
        *last = address + 1;
    }
}

static void collect(tide_pytorch_walk_state *w, uint64_t *lately) {
    const tide_pytorch_import *in = w->in;
    for (size_t s = 0; s < in->end.n_segments; s++) {
        const tide_segment_row *segment = &in->end.segments[s];
        if (segment->device != w->device) {
            continue;
        }
        uint64_t end = segment->address + segment->total_bytes;
        w->points[w->n_points++] = segment->address;
        w->points[w->n_points++] = end;
        if (segment->is_expandable) {
            w->ranges[w->n_ranges++] = (tide_pytorch_range){segment->address, end};
        }
        for (size_t i = 0; i < segment->n_blocks; i++) {
            w->points[w->n_points++] =
                segment->address + in->end.blocks[segment->first_block + i].offset_bytes;
        }
    }
    for (size_t i = in->first_row[w->device]; i < in->first_row[w->device + 1]; i++) {
        const tide_event *row = &in->rows[i];
        if (!tide_action_has_address(row->action)) {
            continue;
        }
        add_point(w, lately, row->address);
        if (is_segment(row->action)) {
            add_point(w, lately, row->address + row->block_bytes);
        } else if (is_map(row->action)) {
            w->ranges[w->n_ranges++] =
                (tide_pytorch_range){row->address, row->address + row->block_bytes};
        }
    }
}

/* Sorts points and ranges, removes repeated points and merges ranges that touch. */
static void tidy(tide_pytorch_walk_state *w) {
    size_t n = 0;
    if (w->n_points > 0) {
        qsort(w->points, w->n_points, sizeof(*w->points), compare_addresses);
    }
    for (size_t i = 0; i < w->n_points; i++) {
        if (n == 0 || w->points[n - 1] != w->points[i]) {
            w->points[n++] = w->points[i];
        }
    }
    w->n_points = n;
    n = 0;
    if (w->n_ranges > 0) {
        qsort(w->ranges, w->n_ranges, sizeof(*w->ranges), compare_ranges);
    }
    for (size_t i = 0; i < w->n_ranges; i++) {
        if (n > 0 && w->ranges[i].begin <= w->ranges[n - 1].end) {
            uint64_t end = w->ranges[i].end;
            w->ranges[n - 1].end = end > w->ranges[n - 1].end ? end : w->ranges[n - 1].end;
        } else {
            w->ranges[n++] = w->ranges[i];
        }
    }
    w->n_ranges = n;
}

tide_status tide_pytorch_walk_prepare(tide_pytorch_walk_state *w) {
    census n = count(w);
    w->points = tide_arena_alloc(&w->arena, n.n_points, sizeof(*w->points));
    w->ranges = tide_arena_alloc(&w->arena, n.n_pieces, sizeof(*w->ranges));
    w->blocks = tide_arena_alloc_raw(&w->arena, n.n_blocks, sizeof(*w->blocks));
    w->segments = tide_arena_alloc(&w->arena, n.n_segments, sizeof(*w->segments));
    uint64_t *lately = tide_arena_alloc(&w->arena, N_LATELY, sizeof(*lately));
    if (w->points == NULL || w->ranges == NULL || w->blocks == NULL || w->segments == NULL ||
        lately == NULL) {
        return TIDE_NO_MEMORY;
    }
    collect(w, lately);
    tidy(w);
    /* One more element, because an address after all points is also looked up. */
    w->block_at = tide_arena_alloc(&w->arena, w->n_points + 1, sizeof(*w->block_at));
    w->segment_at = tide_arena_alloc(&w->arena, w->n_points + 1, sizeof(*w->segment_at));
    w->n_ends = tide_arena_alloc(&w->arena, w->n_points + 1, sizeof(*w->n_ends));
    if (w->block_at == NULL || w->segment_at == NULL || w->n_ends == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(w->block_at, 0xff, (w->n_points + 1) * sizeof(*w->block_at));
    memset(w->segment_at, 0xff, (w->n_points + 1) * sizeof(*w->segment_at));
    return tide_point_set_init(&w->walls, w->n_points + 1, &w->arena);
}

/* ---- the start ---- */

/* Both ends of all mapped pieces before the first event: those of the dump, minus those that the
 * events mapped, plus those that they unmapped. */
static edge *make_edges(tide_pytorch_walk_state *w, size_t *ret_n) {
    const tide_pytorch_import *in = w->in;
    census n = count(w);
    edge *edges = tide_arena_alloc(&w->arena, 2 * n.n_pieces, sizeof(*edges));
    size_t n_edges = 0;
    for (size_t s = 0; edges != NULL && s < in->end.n_segments; s++) {
        const tide_segment_row *segment = &in->end.segments[s];
        if (segment->device == w->device && segment->is_expandable) {
            edges[n_edges++] = (edge){segment->address, 1, segment->stream, segment};
            edges[n_edges++] =
                (edge){segment->address + segment->total_bytes, -1, segment->stream, NULL};
        }
    }
    for (size_t i = in->first_row[w->device]; edges != NULL && i < in->first_row[w->device + 1];
         i++) {
        const tide_event *row = &in->rows[i];
        if (is_map(row->action)) {
            int change = row->action == TIDE_ACTION_SEGMENT_MAP ? -1 : 1;
            edges[n_edges++] = (edge){row->address, change, row->stream, NULL};
            edges[n_edges++] = (edge){row->address + row->block_bytes, -change, row->stream, NULL};
        }
    }
    *ret_n = n_edges;
    return edges;
}

/* Makes one segment of each range of memory that is mapped without a gap. */
static tide_status add_expandable(tide_pytorch_walk_state *w, tide_pytorch_state *to) {
    size_t n_edges = 0;
    edge *edges = make_edges(w, &n_edges);
    if (edges == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (n_edges > 0) {
        qsort(edges, n_edges, sizeof(*edges), compare_edges);
    }
    int64_t n_covering = 0;
    tide_segment_row open = {0};
    for (size_t i = 0; i < n_edges;) {
        uint8_t stream = edges[i].stream;
        uint64_t address = edges[i].address;
        int64_t before = n_covering;
        const tide_segment_row *of = NULL;
        for (; i < n_edges && edges[i].stream == stream && edges[i].address == address; i++) {
            n_covering += edges[i].change;
            of = edges[i].segment != NULL ? edges[i].segment : of;
        }
        if (before <= 0 && n_covering > 0) {
            open = (tide_segment_row){
                .address = address, .device = w->device, .stream = stream, .is_expandable = true};
        }
        if (of != NULL) {
            open.pool = of->pool;
            memcpy(open.pool_id, of->pool_id, sizeof(open.pool_id));
        }
        if (before > 0 && n_covering <= 0) {
            open.total_bytes = address - open.address;
            TIDE_TRY(tide_pytorch_add_segment(w->in->mem, to, open));
        }
        w->in->n_contradictions += n_covering < 0 || n_covering > 1;
        if (i < n_edges && edges[i].stream != stream) {
            n_covering = 0;
        }
    }
    return TIDE_OK;
}

/* The next block in use from point *at on, below `end`; NULL if there is none. */
static const tide_pytorch_block *next_block(const tide_pytorch_walk_state *w, size_t *at,
                                            uint64_t end) {
    while (*at < w->n_points && w->points[*at] < end) {
        size_t point = (*at)++;
        if (w->block_at[point] != TIDE_NONE) {
            return &w->blocks[w->block_at[point]];
        }
    }
    return NULL;
}

static tide_status add_used(const tide_pytorch_walk_state *w, const tide_pytorch_block *block,
                            uint64_t offset_bytes) {
    return tide_pytorch_add_block(w->in->mem, &w->in->start,
                                  (tide_block_row){.offset_bytes = offset_bytes,
                                                   .block_bytes = block->block_bytes,
                                                   .requested_bytes = block->requested_bytes,
                                                   .stack = block->stack,
                                                   .scope = TIDE_NONE,
                                                   .name = block->name,
                                                   .state = block->state,
                                                   .category = block->category});
}

/* Gives a block outside all segments a segment of its own size. */
static tide_status add_homeless(tide_pytorch_walk_state *w, size_t *at, uint64_t end) {
    const tide_pytorch_block *block = NULL;
    while ((block = next_block(w, at, end)) != NULL) {
        tide_segment_row segment = {.address = block->address,
                                    .total_bytes = block->block_bytes,
                                    .first_block = w->in->start.n_blocks,
                                    .n_blocks = 1,
                                    .device = w->device};
        TIDE_TRY(tide_pytorch_stream(w->in, w->device, 0, NULL, &segment.stream));
        w->in->n_contradictions++;
        TIDE_TRY(add_used(w, block, 0));
        TIDE_TRY(tide_pytorch_add_segment(w->in->mem, &w->in->start, segment));
    }
    return TIDE_OK;
}

/* Adds the blocks of one segment, from point *at on, with free ones in the gaps. */
static tide_status fill(tide_pytorch_walk_state *w, tide_segment_row *segment, size_t *at) {
    uint64_t n_filled = 0;
    const tide_pytorch_block *block = NULL;
    segment->first_block = w->in->start.n_blocks;
    while ((block = next_block(w, at, segment->address + segment->total_bytes)) != NULL) {
        uint64_t offset_bytes = block->address - segment->address;
        if (offset_bytes < n_filled || block->block_bytes > segment->total_bytes - offset_bytes) {
            w->in->n_contradictions++;
            continue;
        }
        TIDE_TRY(tide_pytorch_add_free_block(w->in->mem, &w->in->start, n_filled,
                                             offset_bytes - n_filled));
        TIDE_TRY(add_used(w, block, offset_bytes));
        n_filled = offset_bytes + block->block_bytes;
    }
    TIDE_TRY(tide_pytorch_add_free_block(w->in->mem, &w->in->start, n_filled,
                                         segment->total_bytes - n_filled));
    segment->n_blocks = w->in->start.n_blocks - segment->first_block;
    return TIDE_OK;
}

static tide_status lay_out(tide_pytorch_walk_state *w, tide_pytorch_state *from) {
    size_t at = 0;
    for (size_t p = 0; p < w->n_points; p++) {
        if (w->segment_at[p] != TIDE_NONE) {
            TIDE_TRY(tide_pytorch_add_segment(w->in->mem, from, w->segments[w->segment_at[p]]));
        }
    }
    if (from->n_segments > 0) {
        qsort(from->segments, from->n_segments, sizeof(*from->segments), compare_segments);
    }
    for (size_t s = 0; s < from->n_segments; s++) {
        tide_segment_row segment = from->segments[s];
        TIDE_TRY(add_homeless(w, &at, segment.address));
        TIDE_TRY(fill(w, &segment, &at));
        TIDE_TRY(tide_pytorch_add_segment(w->in->mem, &w->in->start, segment));
    }
    return add_homeless(w, &at, UINT64_MAX);
}

tide_status tide_pytorch_walk_start(tide_pytorch_walk_state *w) {
    tide_pytorch_state found = {0}; /* segments alone */
    tide_status status = add_expandable(w, &found);
    if (status == TIDE_OK) {
        status = lay_out(w, &found);
    }
    w->in->mem->release(w->in->mem->ctx, found.segments);
    return status;
}
