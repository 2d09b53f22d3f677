/* event_log.h - the event table while it is being written. Its rows have a fixed size, and their
 * memory is reserved once at its full size, so appending never moves or copies a row.
 *
 * A full log either stops or becomes a ring that keeps the newest rows. Before the ring overwrites
 * rows, it folds them into the base, several at a time (tide_log_fold_rows): the table of
 * everything that was alive before the oldest row kept. With the base, the remaining rows still
 * determine the whole state at each instant. The memory is either anonymous, with pages provided as
 * rows reach them, or part of a log file; in a file, every step leaves a state that a reader
 * understands. Not thread-safe: the recorder's log lock guards it.
 */
#ifndef TIDE_RECORDER_EVENT_LOG_H
#define TIDE_RECORDER_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/assert.h"
#include "common/event.h"
#include "common/hostmem.h"
#include "common/map.h"
#include "common/status.h"
#include "recorder/block_ends.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for the rows, owned by the caller. */
typedef struct tide_event_log_memory {
    size_t row_bytes; /* of a row here and in the base: a tide_event, and the writer's extra bytes
                         after it; a multiple of 8 */
    tide_event *rows; /* max_events, > 0 */
    size_t max_events;
    tide_event *base; /* max_base */
    size_t max_base;
    struct tide_log_counters *counters; /* zeroed (log_format_friend.h) */
} tide_event_log_memory;

typedef struct tide_event_log {
    size_t row_bytes;    /* from one row to the next */
    tide_event *rows;    /* room for max_events */
    size_t max_events;   /* > 0 */
    size_t next;         /* row that the next event goes to; max_events means row 0 */
    uint64_t n_appended; /* events ever appended, including dropped ones */
    uint64_t n_written;  /* of these, events that got a row */
    uint64_t n_folded;   /* of those, rows that were overwritten */
    size_t n_touched;    /* rows whose pages have been requested */
    bool keep_newest;    /* full: overwrite the oldest row; else drop the new one */
    bool is_frozen;      /* the base is also full: the ring has stopped */

    /* The base: the alloc rows of blocks and segments that were alive before the oldest row. A
     * block whose release was requested has that action. An unused row has the action
     * TIDE_BASE_UNUSED and is a link in the list of unused rows: its address is the number of the
     * next one + 1. */
    tide_event *base;
    size_t max_base;
    size_t n_base_used;   /* rows that were ever used */
    size_t n_base;        /* rows in use */
    uint64_t base_unused; /* first row of the list of unused rows + 1; 0: none */
    tide_map base_at;     /* address << 2 | kind -> row of the base */
    tide_block_ends ends; /* of the base's blocks, if rows do not state the size of blocks */

    struct tide_log_counters *counters; /* in the log file; NULL: anonymous memory */
    void *mapping;                      /* owned; NULL: the caller owns the memory */
    size_t mapped_bytes;                /* of the mapping */
} tide_event_log;

enum { TIDE_EVENT_MAX_EXTRA = 16 }; /* bytes that a writer may keep after each row */

#define TIDE_BASE_UNUSED 0xff /* the action of an unused row of the base */

/* Reserves log_bytes, rounded down to whole rows. A log that keeps the newest also gets a base with
 * as many rows and some more. TIDE_INVALID: less than one row. TIDE_NO_MEMORY: the address space
 * could not be reserved. */
TIDE_NODISCARD tide_status tide_event_log_init(tide_event_log *log, const tide_hostmem *mem,
                                               size_t log_bytes, bool keep_newest,
                                               tide_error *error);
/* The same in memory that outlives the log. */
void tide_event_log_init_in(tide_event_log *log, const tide_hostmem *mem,
                            const tide_event_log_memory *memory, bool keep_newest);
void tide_event_log_fini(tide_event_log *log);

/* For a reader that drops old rows: applies a row to the base, as if the ring had overwritten it,
 * and adds a row that was in a base. False: there is no room. */
bool tide_event_log_fold(tide_event_log *log, const tide_event *event);
bool tide_event_log_take_base(tide_event_log *log, const tide_event *row);

/* Row `i` of an array of the log's rows. */
static inline tide_event *tide_event_log_row_of(const tide_event_log *log, tide_event *rows,
                                                size_t i) {
    return (tide_event *)(void *)((unsigned char *)rows + i * log->row_bytes);
}

/* For the two functions below, which are inline because each event calls them: finds the place of
 * the next row if the log is full or its pages are not present yet; and writes the number of rows
 * to a log file. */
tide_event *tide_event_log_make_room(tide_event_log *log);
void tide_event_log_publish(tide_event_log *log);

/* Counts the next event and returns its place. The caller writes the row there and ends it before
 * it does anything else with the log. NULL if the log has no room: the event is dropped. */
static inline tide_event *tide_event_log_row_begin(tide_event_log *log) {
    log->n_appended++;
    return log->n_written - log->n_folded >= log->max_events || log->next >= log->n_touched
               ? tide_event_log_make_room(log)
               : tide_event_log_row_of(log, log->rows, log->next);
}

static inline void tide_event_log_row_end(tide_event_log *log) {
    TIDE_ASSERT(log->next < log->max_events);
    log->next++;
    log->n_written++;
    if (log->next + 1 < log->max_events) { /* last used a whole ring ago: it is in no cache */
        __builtin_prefetch(tide_event_log_row_of(log, log->rows, log->next + 1), 1);
    }
    if (log->counters != NULL) {
        tide_event_log_publish(log);
    }
}

/* The number of rows that the log still has. */
size_t tide_event_log_n_kept(const tide_event_log *log);

/* The number of events that the log does not contain: overwritten, or appended after it stopped. */
uint64_t tide_event_log_n_dropped(const tide_event_log *log);

/* Whether the newest event is among the rows: false for a log that has stopped. */
bool tide_event_log_has_newest(const tide_event_log *log);

/* The row that is `i` rows before the newest one; i below n_kept. Valid until the next append. */
const tide_event *tide_event_log_newest(const tide_event_log *log, size_t i);

/* The newest row, for a writer that adds to it; NULL if there is no row. Valid until the next row
 * begins. */
tide_event *tide_event_log_last(tide_event_log *log);

/* The number of the oldest row kept. The first row ever appended has number 0. */
uint64_t tide_event_log_first(const tide_event_log *log);

/* Writes n_rows rows, beginning with number `first`, without the extra bytes after each. The log
 * must have all of them. */
void tide_event_log_copy(const tide_event_log *log, uint64_t first, size_t n_rows,
                         tide_event *ret_events);

/* Writes the n_base rows of the base, in no order. */
void tide_event_log_copy_base(const tide_event_log *log, tide_event *ret_events);

#ifdef __cplusplus
}
#endif

#endif
