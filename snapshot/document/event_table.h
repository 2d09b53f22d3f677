/* event_table.h - the events of a document as columns: a million rows are read, checked and folded
 * column by column, and most questions need two or three of the eleven columns.
 *
 * tide_event_table_row gathers a whole row (common/event.h). The columns are borrowed from the
 * maker of the table; a document keeps them in its arena.
 */
#ifndef TIDE_SNAPSHOT_EVENT_TABLE_H
#define TIDE_SNAPSHOT_EVENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/event.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers stored in 1, 2, 4 or 8 bytes each, the narrowest width that holds the whole column. Read
 * them with the calls below. */
typedef struct tide_narrow_column {
    const void *values; /* unsigned */
    size_t width;       /* bytes of each */
} tide_narrow_column;

/* A value of a column of byte counts. */
static inline uint64_t tide_bytes_at(const tide_narrow_column *column, size_t row) {
    switch (column->width) {
    case sizeof(uint8_t):
        return ((const uint8_t *)column->values)[row];
    case sizeof(uint16_t):
        return ((const uint16_t *)column->values)[row];
    case sizeof(uint32_t):
        return ((const uint32_t *)column->values)[row];
    default:
        return ((const uint64_t *)column->values)[row];
    }
}

/* A value of a column of indices: at most 4 bytes wide; its largest number means TIDE_NONE. */
static inline uint32_t tide_index_at(const tide_narrow_column *column, size_t row) {
    uint32_t index = (uint32_t)tide_bytes_at(column, row);
    uint32_t none = TIDE_NONE >> (8 * (sizeof(uint32_t) - column->width));
    return index == none ? TIDE_NONE : index;
}

/* The width of a column, from the OR of all its values. For a column of indices, pass the OR of all
 * indices + 1, because the largest number of a width means TIDE_NONE. */
static inline size_t tide_narrow_width(uint64_t all_bits) {
    return all_bits <= UINT8_MAX    ? sizeof(uint8_t)
           : all_bits <= UINT16_MAX ? sizeof(uint16_t)
           : all_bits <= UINT32_MAX ? sizeof(uint32_t)
                                    : sizeof(uint64_t);
}

/* One array per member of tide_event. The owner keeps the number of rows. */
typedef struct tide_event_table {
    const int64_t *time_ns;
    const uint64_t *address;
    tide_narrow_column requested_bytes, block_bytes;
    tide_narrow_column stack, scope, name; /* indices */
    const uint8_t *action, *category, *device, *stream;
} tide_event_table;

static inline tide_event tide_event_table_row(const tide_event_table *table, size_t row) {
    tide_event event;
    event.time_ns = table->time_ns[row];
    event.address = table->address[row];
    event.requested_bytes = tide_bytes_at(&table->requested_bytes, row);
    event.block_bytes = tide_bytes_at(&table->block_bytes, row);
    event.stack = tide_index_at(&table->stack, row);
    event.scope = tide_index_at(&table->scope, row);
    event.name = tide_index_at(&table->name, row);
    event.action = table->action[row];
    event.category = table->category[row];
    event.device = table->device[row];
    event.stream = table->stream[row];
    return event;
}

/* Copies n_rows rows into columns in the arena. `rows` may be NULL if n_rows is 0. Leaves the table
 * unchanged on TIDE_NO_MEMORY. */
TIDE_NODISCARD tide_status tide_event_table_from_rows(tide_arena *arena, const tide_event *rows,
                                                      size_t n_rows, tide_event_table *ret_table);

#ifdef __cplusplus
}
#endif

#endif
