/* private_texts.h - what of a snapshot is nobody else's business.
 */
#ifndef TIDE_SNAPSHOT_PRIVATE_TEXTS_H
#define TIDE_SNAPSHOT_PRIVATE_TEXTS_H

#include "common/status.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Leaves out the command line, the host's name and the folders of absolute paths (of every text of
 * the table of strings that starts with '/'). For a document that is about to be written; its rows
 * stay as they are. TIDE_NO_MEMORY leaves it unchanged. */
TIDE_NODISCARD tide_status tide_snapshot_strip_private(tide_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
