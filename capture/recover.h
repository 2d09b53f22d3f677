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

/* What was there and what was not. */
typedef struct tide_recover_report {
    bool is_closed;      /* the recorder was destroyed: nothing is missing */
    bool is_live;        /* a process still writes it: this is how it stood just now */
    uint64_t process_id; /* of the writer */
    uint64_t n_events;   /* recovered */
    /* Events that are not: */
    uint64_t n_dropped;  /* the log was full */
    uint64_t n_missing;  /* rows that the file has no more */
    uint64_t n_damaged;  /* rows that cannot be what was written */
    uint64_t n_unfit;    /* rows that contradict the ones before them, and blocks that do */
    uint64_t n_unpaired; /* from when on recording was paused */
    /* Counters of the log that cannot be true. What they count is told as far as the rest of the
     * file shows it: */
    uint64_t n_counters_damaged;       /* of all counters */
    uint64_t n_event_counters_damaged; /* of these, the ones that tell how many events were lost */
    uint64_t n_scope_counters_damaged; /* and how many scopes */
    /* What they refer to: */
    uint64_t n_base_missing;        /* rows of what was alive before the first event */
    uint64_t n_scopes_refused;      /* the table was full */
    uint64_t n_scopes_missing;      /* rows that the file has no more */
    uint64_t n_scopes_damaged;      /* rows that were repaired */
    uint64_t n_records_refused;     /* the journal was full */
    uint64_t n_records_damaged;     /* places in the journal with a checksum that is wrong */
    uint64_t journal_missing_bytes; /* that the file has no more */
    uint64_t
        n_references_lost;   /* stacks, names, scopes and streams that rows name and nothing has */
    size_t n_modules;        /* programs and libraries that the call stacks lead through */
    size_t n_modules_absent; /* of these, the ones whose file is not here any more */
} tide_recover_report;

/* TIDE_FORMAT: it is no log, or nothing in it can be had; TIDE_UNSUPPORTED: written by a newer
 * version or another kind of machine; TIDE_LIMIT: more than a snapshot holds. `mem` NULL: default
 * heap. The caller destroys the snapshot. */
TIDE_NODISCARD tide_status tide_recover(const char *path, const tide_hostmem *mem,
                                        tide_snapshot **ret_snapshot,
                                        tide_recover_report *ret_report, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
