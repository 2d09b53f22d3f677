/* Walks the events of one device backwards, from the segments of the dump to the start.
 *
 * A trace contains the size of each request, but not the size of the block that served it. The
 * block size follows from the memory after the block: the allocator hands out the beginning of a
 * free block and keeps the rest, except that in the pool of large blocks a rest of at most 1 MiB
 * stays with the block. No free block there is that small, so a gap of at most 1 MiB between the
 * requested bytes and the next block in use belongs to the block.
 *
 * A trace may contradict the segments, for example if recording stopped before the dump.
 * Contradictions are counted, and if two blocks overlap, the one that the trace contains stays.
 */
#include <stdlib.h>
#include <string.h>

#include "snapshot/pytorch/walk_internal.h"

#define SMALL_BYTES (UINT64_C(1) << 20) /* the largest request that the small pool serves */
#define REST_BYTES (UINT64_C(1) << 20)  /* the largest rest of a block that is not split off */
enum { MIN_BLOCK_BYTES = 512, N_INTERVALS = 16, FIRST_INTERVAL_BIT = 20 };

/* Rounds up to the next multiple of 1/d of the power of two below; powers of two are unchanged. */
static uint64_t round_divided(uint64_t n_bytes, uint64_t divisions) {
    uint64_t floor = MIN_BLOCK_BYTES;
    while (floor <= n_bytes / 2) {
        floor *= 2;
    }
    if (floor == n_bytes) {
        return n_bytes;
    }
    uint64_t step = floor / divisions;
    return step == 0 ? 2 * floor : (n_bytes + step - 1) / step * step;
}

uint64_t tide_pytorch_round(const tide_pytorch_import *in, uint64_t requested_bytes) {
    if (requested_bytes < MIN_BLOCK_BYTES) {
        return MIN_BLOCK_BYTES;
    }
    size_t interval = 0;
    while (interval + 1 < N_INTERVALS &&
           requested_bytes >> (FIRST_INTERVAL_BIT + interval + 1) != 0) {
        interval++;
    }
    uint64_t divisions = in->roundup_divisions[interval];
    if (divisions > 1 && requested_bytes > MIN_BLOCK_BYTES * divisions) {
        return round_divided(requested_bytes, divisions);
    }
    return (requested_bytes + MIN_BLOCK_BYTES - 1) / MIN_BLOCK_BYTES * MIN_BLOCK_BYTES;
}

static bool is_expandable(const tide_pytorch_walk_state *w, uint64_t address) {
    size_t low = 0;
    size_t high = w->n_ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->ranges[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < w->n_ranges && w->ranges[low].begin <= address;
}

/* The block size of a request at `address` if the next block in use, or the segment's end, is at
 * `next` (UINT64_MAX: there is none). */
static uint64_t block_of(const tide_pytorch_walk_state *w, uint64_t address,
                         uint64_t requested_bytes, uint64_t next) {
    uint64_t rounded = tide_pytorch_round(w->in, requested_bytes);
    uint64_t gap = next - address;
    if (next == UINT64_MAX) {
        return rounded;
    }
    if (gap < rounded) {
        return gap >= requested_bytes ? gap : rounded; /* settings that the file lacks */
    }
    if (rounded <= SMALL_BYTES || is_expandable(w, address)) {
        return rounded;
    }
    if (rounded >= w->in->max_split_bytes || gap - rounded <= REST_BYTES) {
        return gap;
    }
    return rounded;
}

static uint64_t next_wall(const tide_pytorch_walk_state *w, size_t point) {
    size_t next = 0;
    return tide_point_set_above(&w->walls, point, &next) ? w->points[next] : UINT64_MAX;
}

static size_t point_of(const tide_pytorch_walk_state *w, uint64_t address) {
    size_t low = 0;
    size_t high = w->n_points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->points[middle] < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low; /* every address of the trace is a point */
}

static void refresh_wall(tide_pytorch_walk_state *w, size_t point) {
    if (w->block_at[point] != TIDE_NONE || w->segment_at[point] != TIDE_NONE ||
        w->n_ends[point] > 0) {
        tide_point_set_insert(&w->walls, point);
    } else {
        tide_point_set_remove(&w->walls, point);
    }
}

/* ---- blocks ---- */

/* Copies the sizes, category and name of a block to the rows that freed it. */
static void settle(const tide_pytorch_walk_state *w, const tide_pytorch_block *block) {
    const size_t rows[2] = {block->requested_row, block->completed_row};
    for (size_t i = 0; i < 2; i++) {
        if (rows[i] != SIZE_MAX) {
            tide_event *row = &w->in->rows[rows[i]];
            row->requested_bytes = block->requested_bytes;
            row->block_bytes = block->block_bytes;
            row->category = block->category;
            row->name = block->name;
        }
    }
}

/* The next block reuses the entry: few are in use at one time, and those stay in the cache. */
static void remove_block(tide_pytorch_walk_state *w, size_t point) {
    size_t index = w->block_at[point];
    w->blocks[index].end_block = w->free_block;
    w->free_block = index + 1;
    w->block_at[point] = TIDE_NONE;
    refresh_wall(w, point);
}

static size_t new_block(tide_pytorch_walk_state *w) {
    if (w->free_block == 0) {
        return w->n_blocks++;
    }
    size_t index = w->free_block - 1;
    w->free_block = w->blocks[index].end_block;
    return index;
}

static void put_block(tide_pytorch_walk_state *w, size_t point, tide_pytorch_block block) {
    size_t before = 0;
    block.next = next_wall(w, point);
    if (point > 0 && tide_point_set_at_or_below(&w->walls, point - 1, &before) &&
        w->block_at[before] != TIDE_NONE) {
        tide_pytorch_block *below = &w->blocks[w->block_at[before]];
        below->next = below->next < block.address ? below->next : block.address;
    }
    size_t index = new_block(w);
    w->blocks[index] = block;
    w->block_at[point] = (uint32_t)index;
    refresh_wall(w, point);
}

/* Sets the size of a block whose alloc row is not in the trace. */
static void guess_size(const tide_pytorch_walk_state *w, tide_pytorch_block *block) {
    if (block->block_bytes == 0) {
        block->block_bytes = block_of(w, block->address, block->requested_bytes, block->next);
    }
}

static tide_pytorch_block freed_block(const tide_event *row, size_t index) {
    bool completed = row->action == TIDE_ACTION_FREE_COMPLETED;
    return (tide_pytorch_block){.address = row->address,
                                .requested_bytes = row->requested_bytes,
                                .requested_row = completed ? SIZE_MAX : index,
                                .completed_row = completed ? index : SIZE_MAX,
                                .end_block = SIZE_MAX,
                                .stack = TIDE_NONE,
                                .name = row->name,
                                .category = row->category,
                                .state =
                                    completed ? TIDE_BLOCK_PENDING_FREE : TIDE_BLOCK_ALLOCATED};
}

static void take_back_free(tide_pytorch_walk_state *w, size_t index) {
    const tide_event *row = &w->in->rows[index];
    size_t point = point_of(w, row->address);
    if (w->block_at[point] !=
        TIDE_NONE) { /* it was allocated later, by a row that the trace lacks */
        tide_pytorch_block *other = &w->blocks[w->block_at[point]];
        w->in->n_contradictions++;
        guess_size(w, other);
        settle(w, other);
        remove_block(w, point);
    }
    put_block(w, point, freed_block(row, index));
}

static void take_back_request(tide_pytorch_walk_state *w, size_t index) {
    const tide_event *row = &w->in->rows[index];
    size_t point = point_of(w, row->address);
    if (w->block_at[point] == TIDE_NONE ||
        w->blocks[w->block_at[point]].state != TIDE_BLOCK_PENDING_FREE) {
        w->in->n_contradictions++;
        if (w->block_at[point] == TIDE_NONE) {
            put_block(w, point, freed_block(row, index));
        }
        return;
    }
    tide_pytorch_block *block = &w->blocks[w->block_at[point]];
    block->state = TIDE_BLOCK_ALLOCATED;
    block->requested_row = index;
}

/* The completed free of a block with an alloc row is its whole free, even if the request was not
 * recorded (skip_actions=['free_requested']). */
static void complete_free(const tide_pytorch_walk_state *w, const tide_pytorch_block *block) {
    if (block->requested_row == SIZE_MAX && block->completed_row != SIZE_MAX) {
        w->in->rows[block->completed_row].action = TIDE_ACTION_FREE;
    }
}

static void take_back_alloc(tide_pytorch_walk_state *w, size_t index) {
    tide_event *row = &w->in->rows[index];
    size_t point = point_of(w, row->address);
    if (w->block_at[point] == TIDE_NONE) { /* its free is not in the trace */
        w->in->n_contradictions++;
        row->block_bytes = block_of(w, row->address, row->requested_bytes, next_wall(w, point));
        return;
    }
    tide_pytorch_block *block = &w->blocks[w->block_at[point]];
    block->requested_bytes = row->requested_bytes;
    block->category = row->category;
    block->name = row->name != TIDE_NONE ? row->name : block->name;
    if (block->block_bytes < row->requested_bytes || block->block_bytes == 0) {
        w->in->n_contradictions += block->block_bytes != 0;
        block->block_bytes = block_of(w, row->address, row->requested_bytes, next_wall(w, point));
    }
    row->block_bytes = block->block_bytes;
    row->name = block->name;
    complete_free(w, block);
    settle(w, block);
    if (block->end_block != SIZE_MAX) {
        w->in->end_row[block->end_block] = index + 1;
    }
    remove_block(w, point);
}

/* ---- segments ---- */

static void put_segment(tide_pytorch_walk_state *w, tide_segment_row segment) {
    size_t begin = point_of(w, segment.address);
    size_t end = point_of(w, segment.address + segment.total_bytes);
    if (w->segment_at[begin] != TIDE_NONE) {
        w->in->n_contradictions++;
        return;
    }
    w->segments[w->n_segments] = segment;
    w->segment_at[begin] = (uint32_t)w->n_segments++;
    w->n_ends[end]++;
    refresh_wall(w, begin);
    refresh_wall(w, end);
}

static void remove_segment(tide_pytorch_walk_state *w, uint64_t address) {
    size_t begin = point_of(w, address);
    if (w->segment_at[begin] == TIDE_NONE) {
        w->in->n_contradictions++;
        return;
    }
    const tide_segment_row *segment = &w->segments[w->segment_at[begin]];
    size_t end = point_of(w, address + segment->total_bytes);
    w->segment_at[begin] = TIDE_NONE;
    w->n_ends[end]--;
    refresh_wall(w, begin);
    refresh_wall(w, end);
}

/* An annotation names the block at its address at that time. */
static void take_back_mark(tide_pytorch_walk_state *w, const tide_event *row) {
    size_t point = point_of(w, row->address);
    if (point < w->n_points && w->points[point] == row->address &&
        w->block_at[point] != TIDE_NONE && row->address != 0) {
        w->blocks[w->block_at[point]].name = row->name;
    }
}

static void take_back(tide_pytorch_walk_state *w, size_t index) {
    const tide_event *row = &w->in->rows[index];
    switch (row->action) {
    case TIDE_ACTION_ALLOC:
        take_back_alloc(w, index);
        break;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_COMPLETED:
        take_back_free(w, index);
        break;
    case TIDE_ACTION_FREE_REQUESTED:
        take_back_request(w, index);
        break;
    case TIDE_ACTION_SEGMENT_ALLOC:
        remove_segment(w, row->address);
        break;
    case TIDE_ACTION_SEGMENT_FREE:
        put_segment(w, (tide_segment_row){.address = row->address,
                                          .total_bytes = row->block_bytes,
                                          .device = row->device,
                                          .stream = row->stream});
        break;
    case TIDE_ACTION_MARK:
        take_back_mark(w, row);
        break;
    default:
        break; /* start.c sums up maps and unmaps */
    }
}

/* Starts with the segments and used blocks of the dump on this device. */
static void load(tide_pytorch_walk_state *w) {
    const tide_pytorch_state *end = &w->in->end;
    for (size_t s = 0; s < end->n_segments; s++) {
        const tide_segment_row *segment = &end->segments[s];
        if (segment->device != w->device) {
            continue;
        }
        if (!segment->is_expandable) {
            put_segment(w, *segment);
        }
        for (size_t i = 0; i < segment->n_blocks; i++) {
            size_t index = segment->first_block + i;
            const tide_block_row *row = &end->blocks[index];
            uint64_t address = segment->address + row->offset_bytes;
            size_t point = point_of(w, address);
            if (row->state == TIDE_BLOCK_FREE || w->block_at[point] != TIDE_NONE) {
                continue;
            }
            put_block(w, point,
                      (tide_pytorch_block){.address = address,
                                           .requested_bytes = row->requested_bytes,
                                           .block_bytes = row->block_bytes,
                                           .requested_row = SIZE_MAX,
                                           .completed_row = SIZE_MAX,
                                           .end_block = index,
                                           .stack = row->stack,
                                           .name = TIDE_NONE,
                                           .state = row->state});
        }
    }
}

tide_status tide_pytorch_walk(tide_pytorch_import *in, size_t device) {
    tide_pytorch_walk_state w = {.in = in, .device = (uint8_t)device};
    size_t first = in->first_row[device];
    tide_arena_init(&w.arena, in->mem);
    tide_status status = tide_pytorch_walk_prepare(&w);
    if (status == TIDE_OK) {
        load(&w);
        for (size_t i = in->first_row[device + 1]; i > first; i--) {
            take_back(&w, i - 1);
        }
        for (size_t p = 0; p < w.n_points; p++) {
            if (w.block_at[p] != TIDE_NONE) {
                guess_size(&w, &w.blocks[w.block_at[p]]);
                settle(&w, &w.blocks[w.block_at[p]]);
            }
        }
        status = tide_pytorch_walk_start(&w);
    }
    tide_arena_fini(&w.arena);
    return status;
}
