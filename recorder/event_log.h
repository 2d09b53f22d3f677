/* event_log.h - the event table while it is being written: fixed-size rows in memory that is
 * reserved once to its bound, so that appending never moves or copies a row.
 *
 * Full, the log either stops or goes on as a ring that keeps the newest rows. A row that the ring
 * overwrites is folded into the base first: the table of what was alive before the oldest row that
 * is kept, so that the picture stays whole. The memory is anonymous, and then pages are taken from
 * the system as rows reach them, or lies in a log file, where each step leaves behind what a reader
 * understands. Not thread-safe: the recorder's log lock guards it.
 */
#ifndef TIDE_RECORDER_EVENT_LOG_H
#define TIDE_RECORDER_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"
#include "common/hostmem.h"
#include "common/map.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the rows go when somebody else owns the memory. */
typedef struct tide_event_log_memory {
    tide_event *rows; /* max_events, > 0 */
    size_t max_events;
    tide_event *base; /* max_base */
    size_t max_base;
    struct tide_log_counters *counters; /* zeroed (log_format_internal.h) */
} tide_event_log_memory;

typedef struct tide_event_log {
    tide_event *rows;    /* room for max_events */
    size_t max_events;   /* > 0 */
    size_t next;         /* row that the next event goes to; 0..max_events - 1 once wrapped */
    uint64_t n_appended; /* events ever handed in, dropped ones included */
    uint64_t n_written;  /* of these, the ones that got a row */
    uint64_t n_folded;   /* of these, the ones that were overwritten */
    size_t n_touched;    /* rows whose pages are there */
    bool keep_newest;    /* full: overwrite the oldest row; else drop the new one */
    bool is_frozen;      /* the base is full, too: a ring that has become one that stops */

    /* The base: allocs of blocks and segments that are alive before the oldest row. A block whose
     * release was requested has that action; an unused row has TIDE_BASE_UNUSED, and its address
     * is the next unused row + 1. */
    tide_event *base;
    size_t max_base;
    size_t n_base_used;   /* rows that were ever used */
    size_t n_base;        /* rows in use */
    uint64_t base_unused; /* first row that was used and is no more, + 1; 0: none */
    tide_map base_at;     /* address << 1 | is a segment -> row of the base */

    struct tide_log_counters *counters; /* of the file; NULL: anonymous memory */
    void *mapping;                      /* owned; NULL: somebody else's memory */
    size_t mapped_bytes;                /* of the mapping */
} tide_event_log;

#define TIDE_BASE_UNUSED 0xff /* the action of an unused row of the base */

/* Reserves log_bytes rounded down to whole rows, and as many rows of base again and some.
 * TIDE_INVALID below one row, TIDE_NO_MEMORY when the address space cannot be had. */
TIDE_NODISCARD tide_status tide_event_log_init(tide_event_log *log, const tide_hostmem *mem,
                                               size_t log_bytes, bool keep_newest,
                                               tide_error *error);
/* In memory that outlives the log. */
void tide_event_log_init_in(tide_event_log *log, const tide_hostmem *mem,
                            const tide_event_log_memory *memory, bool keep_newest);
void tide_event_log_fini(tide_event_log *log);

/* The place of the next event, which is counted: the caller writes the row there and ends it before
 * anything else is done with the log. NULL: there is no room, and the event is dropped. */
tide_event *tide_event_log_row_begin(tide_event_log *log);
void tide_event_log_row_end(tide_event_log *log);

void tide_event_log_append(tide_event_log *log, const tide_event *event);

/* Rows that are there. */
size_t tide_event_log_n_kept(const tide_event_log *log);

/* Rows that are not: overwritten ones, or those that came after the end. */
uint64_t tide_event_log_n_dropped(const tide_event_log *log);

/* The newest event is among the rows. */
bool tide_event_log_has_newest(const tide_event_log *log);

/* The row that is `i` rows before the newest one; i below n_kept. Valid until the next append. */
const tide_event *tide_event_log_newest(const tide_event_log *log, size_t i);

/* The number of the oldest row that is there: 0 for the first one ever appended. */
uint64_t tide_event_log_first(const tide_event_log *log);

/* Writes n_rows rows from number `first` on; all of them must be there. */
void tide_event_log_copy(const tide_event_log *log, uint64_t first, size_t n_rows,
                         tide_event *ret_events);

/* Writes the n_base rows of what was alive before the oldest row, in no order. */
void tide_event_log_copy_base(const tide_event_log *log, tide_event *ret_events);

#ifdef __cplusplus
}
#endif

#endif
