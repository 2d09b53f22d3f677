/* live_sizes.c - the sizes of the blocks of PyTorch's allocator.
 *
 * A request takes the beginning of a free block. The remainder of that block stays free, unless it
 * is too small to be useful: then it stays with the request. So the block ends where the rounded
 * request ends, or at the next block or the end of the segment. The gap between the two decides
 * which, because it contains no free block.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/replay_friend.h"
#include "capture/live_internal.h"
#include "common/arena.h"
#include "common/assert.h"
#include "snapshot/document/point_set_friend.h"

enum { KEY_BYTES = 96 };

/* A range of addresses that was mapped at some time. */
typedef struct range {
    uint64_t begin, end;
} range;

typedef struct sizer {
    tide_arena arena;
    tide_cache_config config;
    uint64_t *points; /* every address at which something begins or ends; ascending, each once */
    size_t n_points;
    uint32_t *n_walls;    /* at each point: blocks in use and ends of segments */
    uint64_t *requested;  /* at each point: bytes of the block in use that begins there */
    uint64_t *block;      /* at each point: its size; 0: no block is in use there */
    tide_point_set walls; /* points with a wall */
    range *ranges;        /* of expandable segments; ascending, without overlap */
    size_t n_ranges;
    bool *pool_is_whole; /* by number: the pool does not split its segments */
    bool *is_whole;      /* at each point: such a segment begins there */
} sizer;

/* ---- addresses ---- */

static int compare_words(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int compare_ranges(const void *a, const void *b) {
    return compare_words(&((const range *)a)->begin, &((const range *)b)->begin);
}

static void collect(sizer *s, const tide_event *rows, size_t n_rows) {
    for (size_t i = 0; i < n_rows; i++) {
        if (!tide_action_has_address(rows[i].action)) {
            continue;
        }
        s->points[s->n_points++] = rows[i].address;
        if (tide_action_is_of_segment(rows[i].action)) {
            s->points[s->n_points++] = rows[i].address + rows[i].block_bytes;
        }
        if (rows[i].action == TIDE_ACTION_SEGMENT_MAP) {
            s->ranges[s->n_ranges++] =
                (range){rows[i].address, rows[i].address + rows[i].block_bytes};
        }
    }
}

/* Sorts the points and joins the ranges. */
static void tidy(sizer *s) {
    size_t n = 0;
    qsort(s->points, s->n_points, sizeof(*s->points), compare_words);
    for (size_t i = 0; i < s->n_points; i++) {
        if (n == 0 || s->points[n - 1] != s->points[i]) {
            s->points[n++] = s->points[i];
        }
    }
    s->n_points = n;
    n = 0;
    qsort(s->ranges, s->n_ranges, sizeof(*s->ranges), compare_ranges);
    for (size_t i = 0; i < s->n_ranges; i++) {
        if (n > 0 && s->ranges[n - 1].end >= s->ranges[i].begin) {
            s->ranges[n - 1].end =
                s->ranges[i].end > s->ranges[n - 1].end ? s->ranges[i].end : s->ranges[n - 1].end;
        } else {
            s->ranges[n++] = s->ranges[i];
        }
    }
    s->n_ranges = n;
}

static size_t point_of(const sizer *s, uint64_t address) {
    size_t low = 0;
    size_t high = s->n_points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->points[middle] < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_expandable(const sizer *s, uint64_t address) {
    size_t low = 0;
    size_t high = s->n_ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->ranges[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < s->n_ranges && s->ranges[low].begin <= address;
}

/* A property that the program states when it creates the pool; events do not have it. */
static bool is_pool_whole(const tide_log_tables *tables, size_t number) {
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof(key), "pool.%" PRIu64 ".%" PRIu64 ".no_split",
                   tables->pools[number - 1][0], tables->pools[number - 1][1]);
    return tide_log_text_of(tables, key) != NULL;
}

static tide_status prepare_pools(sizer *s, const tide_log_tables *tables) {
    s->pool_is_whole = tide_arena_alloc(&s->arena, tables->n_pools + 1, sizeof(*s->pool_is_whole));
    s->is_whole = tide_arena_alloc(&s->arena, s->n_points + 1, sizeof(*s->is_whole));
    if (s->pool_is_whole == NULL || s->is_whole == NULL) {
        return TIDE_NO_MEMORY;
    }
    s->pool_is_whole[0] = false;
    for (size_t i = 1; i <= tables->n_pools; i++) {
        s->pool_is_whole[i] = is_pool_whole(tables, i);
    }
    memset(s->is_whole, 0, (s->n_points + 1) * sizeof(*s->is_whole));
    return TIDE_OK;
}

/* A row of the base that was dropped has no point. */
static void note_segment(sizer *s, const tide_log_tables *tables, uint64_t address, size_t pool) {
    size_t point = point_of(s, address);
    if (point < s->n_points && s->points[point] == address) {
        s->is_whole[point] = pool <= tables->n_pools && s->pool_is_whole[pool];
    }
}

static tide_status prepare(sizer *s, const tide_live_tables *of) {
    size_t n_rows = of->n_events + of->n_base;
    s->points = tide_arena_alloc(&s->arena, 2 * n_rows + 1, sizeof(*s->points));
    s->ranges = tide_arena_alloc(&s->arena, n_rows + 1, sizeof(*s->ranges));
    if (s->points == NULL || s->ranges == NULL) {
        return TIDE_NO_MEMORY;
    }
    collect(s, of->base, of->n_base);
    collect(s, of->events, of->n_events);
    tidy(s);
    s->n_walls = tide_arena_alloc(&s->arena, s->n_points + 1, sizeof(*s->n_walls));
    s->requested = tide_arena_alloc(&s->arena, s->n_points + 1, sizeof(*s->requested));
    s->block = tide_arena_alloc(&s->arena, s->n_points + 1, sizeof(*s->block));
    if (s->n_walls == NULL || s->requested == NULL || s->block == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(s->n_walls, 0, (s->n_points + 1) * sizeof(*s->n_walls));
    memset(s->requested, 0, (s->n_points + 1) * sizeof(*s->requested));
    memset(s->block, 0, (s->n_points + 1) * sizeof(*s->block));
    return tide_point_set_init(&s->walls, s->n_points + 1, &s->arena);
}

/* ---- the walk ---- */

static void add_wall(sizer *s, size_t point) {
    if (s->n_walls[point]++ == 0) {
        tide_point_set_insert(&s->walls, point);
    }
}

static void remove_wall(sizer *s, size_t point) {
    if (s->n_walls[point] > 0 && --s->n_walls[point] == 0) {
        tide_point_set_remove(&s->walls, point);
    }
}

/* The block for a request at this point, which reaches at most `most_bytes` far. */
static uint64_t block_of(const sizer *s, size_t point, uint64_t requested_bytes,
                         uint64_t most_bytes) {
    uint64_t rounded = tide_cache_round_bytes(&s->config, (size_t)requested_bytes);
    size_t next = 0;
    if (!tide_point_set_above(&s->walls, point, &next)) {
        return rounded; /* its segment is not in the log */
    }
    TIDE_ASSERT(next > point && next < s->n_points);
    uint64_t gap = s->points[next] - s->points[point];
    gap = gap < most_bytes ? gap : most_bytes;
    if (s->is_whole[point] && gap >= requested_bytes) {
        return gap;
    }
    if (gap < rounded) {
        return gap >= requested_bytes ? gap : rounded; /* settings that the log does not contain */
    }
    if (rounded <= s->config.small_bytes || is_expandable(s, s->points[point])) {
        return rounded;
    }
    bool is_whole = rounded >= s->config.max_split_bytes || gap - rounded <= s->config.small_bytes;
    return is_whole ? gap : rounded;
}

/* A row of the base may state how far the block could reach when it was made: its neighbour may no
 * longer exist (recorder/block_ends.h). */
static void take_alloc(sizer *s, tide_event *row) {
    size_t point = point_of(s, row->address);
    TIDE_ASSERT(s->points[point] == row->address); /* every address is a point */
    bool is_told = row->block_bytes > row->requested_bytes;
    uint64_t n_bytes =
        block_of(s, point, row->requested_bytes, is_told ? row->block_bytes : UINT64_MAX);
    if (s->block[point] == 0) { /* else the release of the earlier block is missing */
        add_wall(s, point);
    }
    s->block[point] = n_bytes <= TIDE_MAX_BLOCK_BYTES ? n_bytes : row->requested_bytes;
    s->requested[point] = row->requested_bytes;
    row->block_bytes = s->block[point];
}

static void take_free(sizer *s, tide_event *row) {
    size_t point = point_of(s, row->address);
    TIDE_ASSERT(s->points[point] == row->address);
    if (s->block[point] == 0) {
        return; /* its allocation is not in the log; the row will be left out */
    }
    row->requested_bytes = s->requested[point];
    row->block_bytes = s->block[point];
    if (row->action != TIDE_ACTION_FREE_REQUESTED) {
        s->block[point] = 0;
        remove_wall(s, point);
    }
}

/* Memory allocated in one piece ends at a wall. Mapped memory does not matter here: its blocks end
 * with the rounded request. */
static void take_row(sizer *s, tide_event *row) {
    switch (row->action) {
    case TIDE_ACTION_ALLOC:
        take_alloc(s, row);
        break;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_REQUESTED:
    case TIDE_ACTION_FREE_COMPLETED:
        take_free(s, row);
        break;
    case TIDE_ACTION_SEGMENT_ALLOC:
        add_wall(s, point_of(s, row->address + row->block_bytes));
        break;
    case TIDE_ACTION_SEGMENT_FREE:
        remove_wall(s, point_of(s, row->address + row->block_bytes));
        break;
    default:
        break;
    }
}

/* Orders the state before the first row: segments first, then the blocks in the order of their
 * allocation, that is, by time. A block whose free was requested is also in use. */
static int compare_base(const void *a, const void *b) {
    const tide_event *left = a;
    const tide_event *right = b;
    bool left_is = tide_action_is_of_segment(left->action);
    bool right_is = tide_action_is_of_segment(right->action);
    if (left_is != right_is) {
        return left_is ? -1 : 1;
    }
    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

/* The private pool of remaining event i. */
static size_t pool_of(const tide_log_contents *contents, size_t i) {
    return contents->extras[contents->order[i]].pool;
}

tide_status tide_live_size_blocks(const tide_live_tables *rows, const tide_log_contents *contents,
                                  const tide_log_tables *tables) {
    sizer s = {.n_points = 0};
    tide_arena_init(&s.arena, contents->mem);
    (void)tide_live_read_settings(tables, &s.config);
    tide_status status = prepare(&s, rows);
    status = status == TIDE_OK ? prepare_pools(&s, tables) : status;
    for (size_t i = 0; status == TIDE_OK && i < contents->n_base_pools; i++) {
        note_segment(&s, tables, contents->base_pools[i].address, contents->base_pools[i].pool);
    }
    if (status == TIDE_OK && rows->n_base > 0) {
        qsort(rows->base, rows->n_base, sizeof(*rows->base), compare_base);
    }
    for (size_t i = 0; status == TIDE_OK && i < rows->n_base; i++) {
        if (rows->base[i].action == TIDE_ACTION_FREE_REQUESTED) {
            take_alloc(&s, &rows->base[i]);
        } else {
            take_row(&s, &rows->base[i]);
        }
    }
    for (size_t i = 0; status == TIDE_OK && i < rows->n_events; i++) {
        if (rows->events[i].action == TIDE_ACTION_SEGMENT_ALLOC) {
            note_segment(&s, tables, rows->events[i].address, pool_of(contents, i));
        }
        take_row(&s, &rows->events[i]);
    }
    tide_arena_fini(&s.arena);
    return status;
}
