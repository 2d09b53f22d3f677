/* log_file_internal.h - the event log as a mapped file, for its writer.
 *
 * The file is reserved at its full size before anything is recorded, so a full disk is an error at
 * the start and not a signal later. It is mapped once, and gets its name when its header is
 * complete. The process holds a lock on it until it ends. The event log, the scopes and the journal
 * each write their own area. docs/decisions/0006 explains this design.
 */
#ifndef TIDE_RECORDER_LOG_FILE_INTERNAL_H
#define TIDE_RECORDER_LOG_FILE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "recorder/event_log.h"
#include "recorder/log_format_friend.h"

typedef struct tide_log_file {
    const tide_hostmem *mem; /* borrowed */
    char *path;              /* owned; absolute */
    int descriptor;          /* its file lock is held */
    unsigned char *bytes;    /* owned mapping of the whole file */
    size_t mapped_bytes;     /* of the mapping */
    tide_log_header *header; /* in the mapping, as are all fields below */
    unsigned char *journal;  /* header->layout.journal_bytes */
    tide_scope_row *scopes;  /* header->layout.max_scopes */
    tide_event *base;        /* header->layout.max_base */
    tide_event *events;      /* header->layout.max_events */
} tide_log_file;

enum { TIDE_LOG_MIN_BYTES = 1 << 20 }; /* smallest file of a recorder */

/* The sizes of the areas of a layout. */
typedef struct tide_log_areas {
    uint64_t journal_bytes;
    uint64_t max_scopes;  /* rows */
    uint64_t max_base;    /* rows */
    uint64_t max_events;  /* rows */
    uint32_t event_bytes; /* of a row of the base and of the events */
    uint32_t full_policy; /* tide_full_policy */
} tide_log_areas;

/* A layout with these areas, one after the other. */
tide_log_layout tide_log_layout_make(const tide_log_areas *areas);

/* Divides file_bytes among the areas. event_bytes: of a row; rows longer than a tide_event mean a
 * log of another program, which opens few of our scopes. */
tide_log_areas tide_log_areas_share(size_t file_bytes, size_t event_bytes, uint32_t full_policy);

/* Makes a file of file_bytes (at least TIDE_LOG_MIN_BYTES) at `path`, and reserves, maps and locks
 * it. "%p" in the path is replaced by the process ID. At least half of the file is for events. A
 * closed log is replaced; the log of a crashed process is kept as PATH.old. TIDE_IO: the path holds
 * something else, another process writes this log, or the disk has no room; the message names the
 * remedy. The caller closes the file. */
TIDE_NODISCARD tide_status tide_log_file_open(const tide_hostmem *mem, const char *path,
                                              size_t file_bytes, size_t event_bytes,
                                              uint32_t full_policy, tide_log_file *ret_file,
                                              tide_error *error);

/* The same with a given layout. */
TIDE_NODISCARD tide_status tide_log_file_open_as(const tide_hostmem *mem, const char *path,
                                                 const tide_log_layout *layout,
                                                 tide_log_file *ret_file, tide_error *error);

/* Marks the recording as complete, cuts off unused room if possible, unmaps and unlocks the file.
 */
void tide_log_file_close(tide_log_file *file);

/* In a forked process: unmaps the file and closes its descriptor. The parent keeps its own, and the
 * lock. */
void tide_log_file_abandon(tide_log_file *file);

/* log_file_close.c. Replaces the file by a copy of its used parts. TIDE_IO leaves it as it was. */
TIDE_NODISCARD tide_status tide_log_file_compact(const tide_log_file *file);

/* Rows for tide_event_log_init_in. */
tide_event_log_memory tide_log_file_memory(const tide_log_file *file);

#endif
