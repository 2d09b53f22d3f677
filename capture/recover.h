/* recover.h - turns the log file of a process that is gone into a snapshot.
 *
 * The file is untrusted: it may end anywhere and hold anything. What is whole is read; what is not
 * is counted and left out. docs/log-format.md specifies the file.
 */
#ifndef TIDE_CAPTURE_RECOVER_H
#define TIDE_CAPTURE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was recovered and what was not. */
typedef struct tide_recover_report {
    bool is_closed;      /* the recorder was destroyed: nothing is missing */
    bool is_live;        /* a process still writes it; this is its state a moment ago */
    uint64_t process_id; /* of the writer */
    uint64_t n_events;   /* recovered */
    /* Events that were not recovered: */
    uint64_t n_dropped;  /* the log was full */
    uint64_t n_missing;  /* rows beyond the end of the file */
    uint64_t n_damaged;  /* rows with impossible contents */
    uint64_t n_unfit;    /* rows and blocks that contradict the ones before them */
    uint64_t n_unpaired; /* rows after recording was paused: their counterparts may be missing */
    /* Counters of the log that cannot be true. Their figures are reported as far as the rest of the
     * file shows them: */
    uint64_t n_counters_damaged;       /* all of these */
    uint64_t n_event_counters_damaged; /* those of them that count lost events */
    uint64_t n_scope_counters_damaged; /* those of them that count lost scopes */
    /* What events refer to: */
    uint64_t n_base_missing;        /* rows of what was alive before the first event */
    uint64_t n_scopes_refused;      /* the table was full */
    uint64_t n_scopes_missing;      /* rows beyond the end of the file */
    uint64_t n_scopes_damaged;      /* rows that were repaired */
    uint64_t n_records_refused;     /* the journal was full */
    uint64_t n_records_damaged;     /* places in the journal with a wrong checksum */
    uint64_t journal_missing_bytes; /* beyond the end of the file */
    uint64_t n_references_lost; /* stacks, names, scopes and streams that rows name and the journal
                                   lacks */
    size_t n_modules;           /* programs and libraries with code in the call stacks */
    size_t n_modules_absent;    /* those of them whose file is not here any more */
} tide_recover_report;

/* TIDE_FORMAT: it is no log, or nothing in it can be read; TIDE_UNSUPPORTED: written by a newer
 * version or another kind of machine; TIDE_LIMIT: more than a snapshot holds. `mem` NULL: default
 * heap. The caller destroys the snapshot. */
TIDE_NODISCARD tide_status tide_recover(const char *path, const tide_hostmem *mem,
                                        tide_snapshot **ret_snapshot,
                                        tide_recover_report *ret_report, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
