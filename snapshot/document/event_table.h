/* event_table.h - the events of a document as columns: a million rows are read, checked and folded
 * column by column, and most questions need two or three columns of the eleven.
 *
 * A row (common/event.h) is gathered where a caller wants all of it. Columns are borrowed from
 * whoever made the table, for a document its arena.
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

/* Byte counts: 32 bits each where all of them fit, else 64. One of the two is set; both are NULL
 * where there are no rows. */
typedef struct tide_bytes_column {
    const uint32_t *narrow;
    const uint64_t *wide;
} tide_bytes_column;

static inline uint64_t tide_bytes_at(const tide_bytes_column *column, size_t row) {
    return column->narrow != NULL ? column->narrow[row] : column->wide[row];
}

/* One array per member of tide_event. The number of rows is the owner's to keep. */
typedef struct tide_event_table {
    const int64_t *time_ns;
    const uint64_t *address;
    tide_bytes_column requested_bytes, block_bytes;
    const uint32_t *stack, *scope, *name;
    const uint8_t *action, *category, *device, *stream;
} tide_event_table;

static inline tide_event tide_event_table_row(const tide_event_table *table, size_t row) {
    tide_event event;
    event.time_ns = table->time_ns[row];
    event.address = table->address[row];
    event.requested_bytes = tide_bytes_at(&table->requested_bytes, row);
    event.block_bytes = tide_bytes_at(&table->block_bytes, row);
    event.stack = table->stack[row];
    event.scope = table->scope[row];
    event.name = table->name[row];
    event.action = table->action[row];
    event.category = table->category[row];
    event.device = table->device[row];
    event.stream = table->stream[row];
    return event;
}

/* Copies n_rows rows into columns in the arena. `rows` may be NULL if n_rows is 0. On
 * TIDE_NO_MEMORY the table is unchanged. */
TIDE_NODISCARD tide_status tide_event_table_from_rows(tide_arena *arena, const tide_event *rows,
                                                      size_t n_rows, tide_event_table *ret_table);

#ifdef __cplusplus
}
#endif

#endif
