/* log_contents_internal.h - the parts of a log file, as read from the file. */
#ifndef TIDE_CAPTURE_LOG_CONTENTS_INTERNAL_H
#define TIDE_CAPTURE_LOG_CONTENTS_INTERNAL_H

#include "capture/recover.h"
#include "common/text/strings.h"
#include "recorder/log_format_friend.h"
#include "snapshot/document/symbols.h"

/* How far each area is filled (tide_log_counters describes the counters). An impossible counter is
 * replaced by a value that follows from the rest of the file, and counted below. */
typedef struct tide_log_fill {
    uint64_t n_written;
    uint64_t n_folded;
    uint64_t n_refused;
    uint64_t n_base_used; /* max_base at most */
    uint64_t n_scopes;    /* max_scopes at most */
    uint64_t n_scopes_refused;
    uint64_t journal_used_bytes; /* journal_bytes at most */
    uint64_t n_records_refused;
    uint64_t paused_at;
    bool is_closed;
    size_t n_events_damaged; /* counters of lost events, whose number is then unknown */
    size_t n_scopes_damaged; /* counters of lost scopes, whose number is then unknown */
    size_t n_others_damaged; /* all others */
} tide_log_fill;

/* log_counters.c. `is_live`: a process may have changed them between two reads. */
tide_log_fill tide_log_fill_of(const tide_log_header *header, bool is_live);

/* The data after each event of a log that programs/live/ wrote (tide_live_row). */
typedef struct tide_live_extra {
    uint32_t sequence;
    uint32_t node;   /* string of the rows; TIDE_NONE */
    uint32_t module; /* string of the rows; TIDE_NONE */
    uint16_t pool;
    uint16_t thread;
    uint8_t mode; /* tide_autograd_mode */
} tide_live_extra;

/* A row that is not an event, and the number of events before it. */
typedef struct tide_live_note {
    tide_event row;
    tide_live_extra extra;
    size_t n_before;
} tide_live_note;

/* Memory that a private pool had before the first row. */
typedef struct tide_live_pooled {
    uint64_t address; /* of a segment, or of a part of one that was mapped */
    uint64_t n_bytes;
    uint16_t pool; /* never 0 */
    uint8_t device;
} tide_live_pooled;

/* The areas of the file that are present. */
typedef struct tide_log_contents {
    const tide_hostmem *mem; /* borrowed */
    tide_log_header header;  /* read first; its counters may be wrong */
    tide_log_fill fill;      /* the repaired counters */
    unsigned char *journal;  /* owned; n_journal_bytes */
    size_t n_journal_bytes;
    tide_scope_row *scopes; /* owned */
    size_t n_scopes;
    tide_event *base; /* owned; with unused rows */
    size_t n_base;
    uint64_t first_event; /* number of the first row */
    tide_event *events;   /* owned; oldest first, unchecked */
    size_t n_events;
    bool leaves_rows;        /* events and scopes are not read, but counted: */
    uint64_t n_rows;         /* events that the log should have */
    int descriptor;          /* of the file, open if rows are left in it; the contents close it */
    bool is_of_live;         /* programs/live/ wrote it: */
    tide_live_extra *extras; /* owned; of the events as they were read */
    size_t *order;           /* owned; for each remaining event, its index as read */
    tide_live_note *notes;   /* owned; marks and rows of the driver, in their order */
    size_t n_notes;
    tide_live_note *base_notes; /* owned; calls of the driver before the first row */
    size_t n_base_notes;
    tide_live_pooled *base_pools; /* owned */
    size_t n_base_pools;
    bool is_of_pytorch; /* its allocator has reported events */
    int pinned_device;  /* of the events: pinned memory of the host; -1: none */
} tide_log_contents;

/* log_contents.c. Also fills in the report's missing bytes and rows. */
TIDE_NODISCARD tide_status tide_log_contents_read(const char *path, const tide_hostmem *mem,
                                                  tide_log_contents *ret_contents,
                                                  tide_recover_report *report, tide_error *error);
/* The same without the rows of events and scopes, which tide_log_read_rows reads from the file that
 * stays open. TIDE_UNSUPPORTED if a process still writes the log, or programs/live/ wrote it. */
TIDE_NODISCARD tide_status tide_log_contents_open(const char *path, const tide_hostmem *mem,
                                                  tide_log_contents *ret_contents,
                                                  tide_recover_report *report, tide_error *error);
/* Reads up to n_rows from the file at the offset; returns the number read. */
size_t tide_log_read_rows(const tide_log_contents *contents, uint64_t offset, void *to,
                          size_t n_rows, size_t row_bytes);
void tide_log_contents_fini(tide_log_contents *contents);

typedef struct tide_log_key_value {
    const char *key;   /* borrowed from the journal */
    const char *value; /* borrowed from the journal */
} tide_log_key_value;

/* The contents of the journal. The maps lead from numbers in rows to them; a text with two numbers
 * is kept once. */
typedef struct tide_log_tables {
    const tide_hostmem *mem;      /* borrowed */
    tide_strings strings;         /* owned */
    tide_map string_of;           /* number in the rows -> number in strings */
    uint64_t *pcs;                /* owned; of all stacks: addresses of tide_symbol_address */
    size_t n_pcs;                 /* in all */
    size_t pcs_capacity;          /* of pcs */
    size_t *stack_first;          /* owned; n_stacks + 1 */
    size_t n_stacks;              /* in the order of the journal */
    size_t stacks_capacity;       /* of stack_first */
    tide_map stack_of;            /* number in the rows -> stack */
    tide_stream_row streams[256]; /* by number */
    size_t n_streams;             /* one more than the highest number */
    tide_symbol_module *modules;  /* owned; their texts are in the journal */
    uint64_t *begins;             /* owned; first address of module i, */
    uint64_t *ends;               /* owned; one past the last */
    uint64_t *biases;             /* owned; the loader's offset to its addresses */
    size_t n_modules;
    size_t modules_capacity;       /* of modules and the three arrays after it */
    tide_log_python_frame *python; /* owned; by number; strings are those of `strings` */
    size_t n_python;
    size_t python_capacity;
    uint64_t (*pools)[2]; /* owned; by number - 1 */
    size_t n_pools;
    size_t pools_capacity;
    tide_log_key_value *texts; /* owned; the last value of a key is valid */
    size_t n_texts;
    size_t texts_capacity;
} tide_log_tables;

/* log_tables.c. The tables borrow from the journal. After TIDE_NO_MEMORY, call fini as well. */
TIDE_NODISCARD tide_status tide_log_tables_read(const unsigned char *journal, size_t n_bytes,
                                                tide_log_tables *tables,
                                                tide_recover_report *report);
void tide_log_tables_init(tide_log_tables *tables, const tide_hostmem *mem);
void tide_log_tables_fini(tide_log_tables *tables);

/* The last value of a key in the texts; NULL if missing. */
const char *tide_log_text_of(const tide_log_tables *tables, const char *key);

/* log_texts.c. Enters run, device and settings from the texts into the document. */
TIDE_NODISCARD tide_status tide_log_texts_apply(const tide_log_tables *tables,
                                                tide_snapshot *snapshot);

#endif
