/* import.h - reads snapshots of PyTorch as our documents.
 *
 * docs/reference/pytorch-snapshots.md describes what is read, what is derived and what is lost.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_IMPORT_H
#define TIDE_SNAPSHOT_PYTORCH_IMPORT_H

#include <stdbool.h>

#include "snapshot/document/snapshot.h"
#include "snapshot/format/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills an empty document from the pickle in `source`, which is untrusted: nothing in it is
 * executed. TIDE_FORMAT, TIDE_UNSUPPORTED and TIDE_LIMIT name byte offset and key path; after a
 * failure the document can only be destroyed. */
TIDE_NODISCARD tide_status tide_pytorch_import_pickle(const tide_source *source,
                                                      tide_snapshot *snapshot, tide_error *error);
/* The same from JSON, as Python writes the data of PyTorch's pickle. */
TIDE_NODISCARD tide_status tide_pytorch_import_json(const tide_source *source,
                                                    tide_snapshot *snapshot, tide_error *error);
/* Whether the first key of the object that begins there is one of PyTorch's. */
bool tide_pytorch_is_json(const char *text);

#ifdef __cplusplus
}
#endif

#endif
