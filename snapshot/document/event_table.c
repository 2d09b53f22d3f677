#include "snapshot/document/event_table.h"

#include <stdbool.h>
#include <string.h>

/* A member of the rows, to be stored as a narrow column. */
typedef struct member {
    const tide_event *rows; /* borrowed */
    size_t offset;
    bool is_index; /* uint32_t; else a byte count of 8 bytes */
} member;

static uint64_t value_of(const member *of, size_t row) {
    const char *at = (const char *)&of->rows[row] + of->offset;
    uint32_t index = 0;
    uint64_t n_bytes = 0;
    if (of->is_index) {
        memcpy(&index, at, sizeof(index));
        return index;
    }
    memcpy(&n_bytes, at, sizeof(n_bytes));
    return n_bytes;
}

/* For a column of indices, the largest number of a width means TIDE_NONE. */
static size_t width_of(const member *of, size_t n_rows) {
    uint64_t all_bits = 0;
    for (size_t i = 0; i < n_rows; i++) {
        uint64_t value = value_of(of, i);
        all_bits |= of->is_index ? (uint32_t)(value + 1) : value;
    }
    return tide_narrow_width(all_bits);
}

static bool make_narrow(tide_arena *arena, const member *of, size_t n_rows,
                        tide_narrow_column *ret_column) {
    size_t width = width_of(of, n_rows);
    void *values = tide_arena_alloc_raw(arena, n_rows, width);
    for (size_t i = 0; values != NULL && i < n_rows; i++) {
        uint64_t value = value_of(of, i);
        switch (width) {
        case sizeof(uint8_t):
            ((uint8_t *)values)[i] = (uint8_t)value;
            break;
        case sizeof(uint16_t):
            ((uint16_t *)values)[i] = (uint16_t)value;
            break;
        case sizeof(uint32_t):
            ((uint32_t *)values)[i] = (uint32_t)value;
            break;
        default:
            ((uint64_t *)values)[i] = value;
        }
    }
    *ret_column = (tide_narrow_column){.values = values, .width = width};
    return values != NULL;
}

static bool make_narrow_columns(tide_arena *arena, const tide_event *rows, size_t n_rows,
                                tide_event_table *made) {
    const struct {
        member of;
        tide_narrow_column *column;
    } COLUMNS[] = {
        {{rows, offsetof(tide_event, requested_bytes), false}, &made->requested_bytes},
        {{rows, offsetof(tide_event, block_bytes), false}, &made->block_bytes},
        {{rows, offsetof(tide_event, stack), true}, &made->stack},
        {{rows, offsetof(tide_event, scope), true}, &made->scope},
        {{rows, offsetof(tide_event, name), true}, &made->name},
    };
    for (size_t i = 0; i < sizeof(COLUMNS) / sizeof(COLUMNS[0]); i++) {
        if (!make_narrow(arena, &COLUMNS[i].of, n_rows, COLUMNS[i].column)) {
            return false;
        }
    }
    return true;
}

tide_status tide_event_table_from_rows(tide_arena *arena, const tide_event *rows, size_t n_rows,
                                       tide_event_table *ret_table) {
    tide_event_table made;
    int64_t *time_ns = tide_arena_alloc_raw(arena, n_rows, sizeof(*time_ns));
    uint64_t *address = tide_arena_alloc_raw(arena, n_rows, sizeof(*address));
    uint8_t *action = tide_arena_alloc_raw(arena, n_rows, sizeof(*action));
    uint8_t *category = tide_arena_alloc_raw(arena, n_rows, sizeof(*category));
    uint8_t *device = tide_arena_alloc_raw(arena, n_rows, sizeof(*device));
    uint8_t *stream = tide_arena_alloc_raw(arena, n_rows, sizeof(*stream));
    if (time_ns == NULL || address == NULL || action == NULL || category == NULL ||
        device == NULL || stream == NULL || !make_narrow_columns(arena, rows, n_rows, &made)) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_rows; i++) {
        time_ns[i] = rows[i].time_ns;
        address[i] = rows[i].address;
        action[i] = rows[i].action;
        category[i] = rows[i].category;
        device[i] = rows[i].device;
        stream[i] = rows[i].stream;
    }
    made.time_ns = time_ns;
    made.address = address;
    made.action = action;
    made.category = category;
    made.device = device;
    made.stream = stream;
    *ret_table = made;
    return TIDE_OK;
}
