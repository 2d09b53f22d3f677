#include "snapshot/document/event_table.h"

#include <stdbool.h>

/* The columns of a table while they are filled: in the arena, NULL where it has no memory. */
typedef struct columns {
    int64_t *time_ns;
    uint64_t *address;
    uint32_t *narrow_requested, *narrow_block; /* NULL: the wide one is used */
    uint64_t *wide_requested, *wide_block;
    uint32_t *stack, *scope, *name;
    uint8_t *action, *category, *device, *stream;
} columns;

/* Every bit that is set in any of the counts: they fit in 32 bits if it does. */
static void find_widths(const tide_event *rows, size_t n_rows, bool *ret_requested,
                        bool *ret_block) {
    uint64_t requested_bits = 0;
    uint64_t block_bits = 0;
    for (size_t i = 0; i < n_rows; i++) {
        requested_bits |= rows[i].requested_bytes;
        block_bits |= rows[i].block_bytes;
    }
    *ret_requested = requested_bits > UINT32_MAX;
    *ret_block = block_bits > UINT32_MAX;
}

static bool make_columns(tide_arena *arena, const tide_event *rows, size_t n_rows, columns *made) {
    bool is_wide_requested = false;
    bool is_wide_block = false;
    find_widths(rows, n_rows, &is_wide_requested, &is_wide_block);
    *made = (columns){.time_ns = tide_arena_alloc_raw(arena, n_rows, sizeof(int64_t)),
                      .address = tide_arena_alloc_raw(arena, n_rows, sizeof(uint64_t)),
                      .stack = tide_arena_alloc_raw(arena, n_rows, sizeof(uint32_t)),
                      .scope = tide_arena_alloc_raw(arena, n_rows, sizeof(uint32_t)),
                      .name = tide_arena_alloc_raw(arena, n_rows, sizeof(uint32_t)),
                      .action = tide_arena_alloc_raw(arena, n_rows, sizeof(uint8_t)),
                      .category = tide_arena_alloc_raw(arena, n_rows, sizeof(uint8_t)),
                      .device = tide_arena_alloc_raw(arena, n_rows, sizeof(uint8_t)),
                      .stream = tide_arena_alloc_raw(arena, n_rows, sizeof(uint8_t))};
    if (is_wide_requested) {
        made->wide_requested = tide_arena_alloc_raw(arena, n_rows, sizeof(uint64_t));
    } else {
        made->narrow_requested = tide_arena_alloc_raw(arena, n_rows, sizeof(uint32_t));
    }
    if (is_wide_block) {
        made->wide_block = tide_arena_alloc_raw(arena, n_rows, sizeof(uint64_t));
    } else {
        made->narrow_block = tide_arena_alloc_raw(arena, n_rows, sizeof(uint32_t));
    }
    return made->time_ns != NULL && made->address != NULL && made->stack != NULL &&
           made->scope != NULL && made->name != NULL && made->action != NULL &&
           made->category != NULL && made->device != NULL && made->stream != NULL &&
           (made->wide_requested != NULL || made->narrow_requested != NULL) &&
           (made->wide_block != NULL || made->narrow_block != NULL);
}

static void put_bytes(uint32_t *narrow, uint64_t *wide, size_t row, uint64_t n_bytes) {
    if (narrow != NULL) {
        narrow[row] = (uint32_t)n_bytes;
    } else {
        wide[row] = n_bytes;
    }
}

static void put_row(const columns *to, size_t row, const tide_event *event) {
    to->time_ns[row] = event->time_ns;
    to->address[row] = event->address;
    put_bytes(to->narrow_requested, to->wide_requested, row, event->requested_bytes);
    put_bytes(to->narrow_block, to->wide_block, row, event->block_bytes);
    to->stack[row] = event->stack;
    to->scope[row] = event->scope;
    to->name[row] = event->name;
    to->action[row] = event->action;
    to->category[row] = event->category;
    to->device[row] = event->device;
    to->stream[row] = event->stream;
}

tide_status tide_event_table_from_rows(tide_arena *arena, const tide_event *rows, size_t n_rows,
                                       tide_event_table *ret_table) {
    columns made;
    if (!make_columns(arena, rows, n_rows, &made)) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_rows; i++) {
        put_row(&made, i, &rows[i]);
    }
    *ret_table = (tide_event_table){.time_ns = made.time_ns,
                                    .address = made.address,
                                    .requested_bytes = {made.narrow_requested, made.wide_requested},
                                    .block_bytes = {made.narrow_block, made.wide_block},
                                    .stack = made.stack,
                                    .scope = made.scope,
                                    .name = made.name,
                                    .action = made.action,
                                    .category = made.category,
                                    .device = made.device,
                                    .stream = made.stream};
    return TIDE_OK;
}
