/* event_log.h - the event table while it is being written: fixed-size rows in anonymous memory that
 * is reserved once to its bound, so that appending never moves or copies a row.
 *
 * Pages are taken from the system as rows reach them. When the log is full it either stops or goes
 * on as a ring that keeps the newest rows. Not thread-safe: the recorder's log lock guards it.
 */
#ifndef TIDE_ALLOCATOR_EVENT_LOG_H
#define TIDE_ALLOCATOR_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_event_log {
    tide_event *rows;    /* owned mapping; room for max_events */
    size_t mapped_bytes; /* what is mapped */
    size_t max_events;   /* > 0 */
    size_t next;         /* row that the next event goes to; 0..max_events - 1 once wrapped */
    uint64_t n_appended; /* events ever handed in, dropped ones included */
    bool keep_newest;    /* full: overwrite the oldest row; else drop the new one */
} tide_event_log;

/* Reserves log_bytes rounded down to whole rows. TIDE_INVALID below one row, TIDE_NO_MEMORY when
 * the address space cannot be had. */
TIDE_NODISCARD tide_status tide_event_log_init(tide_event_log *log, size_t log_bytes,
                                               bool keep_newest, tide_error *error);
void tide_event_log_fini(tide_event_log *log);

void tide_event_log_append(tide_event_log *log, const tide_event *event);

/* Rows that are there. */
size_t tide_event_log_n_kept(const tide_event_log *log);

/* Rows that are not: overwritten ones, or those that came after the end. */
uint64_t tide_event_log_n_dropped(const tide_event_log *log);

/* The row that is `i` rows before the newest one; i below n_kept. Valid until the next append. */
const tide_event *tide_event_log_newest(const tide_event_log *log, size_t i);

/* The number of the oldest row that is there: 0 for the first one ever appended. */
uint64_t tide_event_log_first(const tide_event_log *log);

/* Writes n_rows rows from number `first` on; all of them must be there. */
void tide_event_log_copy(const tide_event_log *log, uint64_t first, size_t n_rows,
                         tide_event *ret_events);

#ifdef __cplusplus
}
#endif

#endif
