/* document.h - turns the files that a process left into a tidemark snapshot.
 */
#ifndef TIDE_LAUNCH_DOCUMENT_H
#define TIDE_LAUNCH_DOCUMENT_H

#include "capture/recover.h"
#include "programs/launch/left/left.h"
#include "snapshot/document/snapshot.h"

/* The `call` of rows of tide_snapshot.inexact about the limits of a live recording. */
#define TIDE_LIVE_RECORDING "live recording"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads PyTorch's history of the process and adds our data: the cards, steps and phases as scopes,
 * the names and categories of tensors, versions, how it ended, and a row for each inexactness. The
 * caller destroys the snapshot. TIDE_INVALID: the process has no history. */
TIDE_NODISCARD tide_status tide_launch_document(const tide_left *process,
                                                const tide_left_list *list,
                                                const tide_launch_config *config,
                                                tide_snapshot **ret_snapshot, tide_error *error);

/* A snapshot of any log: of a live recording with all its notes, otherwise as tide_recover makes
 * it. Fails as that does. */
TIDE_NODISCARD tide_status tide_launch_recover(const char *path, tide_snapshot **ret_snapshot,
                                               tide_recover_report *ret_report, tide_error *error);

/* The contents of a log. */
typedef struct tide_launch_log {
    tide_snapshot *snapshot; /* owned */
    tide_recover_report report;
    int64_t rank; /* of the process; -1 if it has none */
} tide_launch_log;

/* The same. The caller destroys the snapshot. */
TIDE_NODISCARD tide_status tide_launch_read_log(const char *path, tide_launch_log *ret,
                                                tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
