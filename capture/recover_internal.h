/* recover_internal.h - the steps by which a log becomes a document: recover.c takes all rows
 * together, log_source.c one after another.
 */
#ifndef TIDE_CAPTURE_RECOVER_INTERNAL_H
#define TIDE_CAPTURE_RECOVER_INTERNAL_H

#include "capture/capture_internal.h"
#include "capture/log_contents_internal.h"

typedef struct tide_recovery {
    const tide_hostmem *mem;     /* borrowed */
    tide_recover_report *report; /* borrowed */
    tide_snapshot *snapshot;     /* owned until it is returned */
    tide_log_contents contents;  /* owned */
    tide_log_tables tables;      /* owned */
    tide_event *base;            /* in the arena; n_base good rows */
    size_t n_base;
    size_t n_streams;          /* one more than the highest number that a row has */
    tide_recording recording;  /* in the arena */
    tide_recover_notes *notes; /* borrowed; filled in; NULL: not requested */
} tide_recovery;

/* Whether the contents of a row are possible. */
bool tide_recovery_is_plausible(const tide_recovery *of, const tide_event *row);

/* Keeps the good rows of the base. */
TIDE_NODISCARD tide_status tide_recovery_take_base(tide_recovery *of);

/* Whether the base already holds the effect of the oldest row. A full log folds its oldest row into
 * the base before it overwrites the row, and the process may have ended between the two. */
bool tide_recovery_is_folded(const tide_recovery *of, const tide_event *row);
/* Whether the writer may have ended between folding and overwriting a row. */
bool tide_recovery_may_be_folded(const tide_recovery *of);

/* Replaces the numbers of a row by those of the document. */
void tide_recovery_refer(tide_recovery *of, tide_event *row);

/* Repairs row i, a scope. `last_ns`: the start of the scope before it, and then of this one. */
void tide_recovery_repair_scope(tide_recovery *of, tide_scope_row *row, size_t i, uint32_t no_name,
                                int64_t *last_ns);

/* Our own logs have one device. */
void tide_recovery_repair_streams(tide_recovery *of);

/* Makes the recording that tide_recorder_copy would have made, in the document's arena. */
TIDE_NODISCARD tide_status tide_recovery_build_recording(tide_recovery *of);

/* Enters the log's description of the run. */
TIDE_NODISCARD tide_status tide_recovery_describe(tide_recovery *of);

/* Enters the losses. */
void tide_recovery_count_losses(tide_recovery *of);

#endif
