/* import.h - snapshots that PyTorch wrote, as documents of ours.
 *
 * docs/reference/pytorch-snapshots.md says what is read, what is derived and what is lost.
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
 * run. TIDE_FORMAT, TIDE_UNSUPPORTED and TIDE_LIMIT name byte offset and key path; the document is
 * then fit for tide_snapshot_destroy alone. */
TIDE_NODISCARD tide_status tide_pytorch_import_pickle(const tide_source *source,
                                                      tide_snapshot *snapshot, tide_error *error);
/* The same from JSON: what PyTorch's pickle is when Python writes it as JSON. */
TIDE_NODISCARD tide_status tide_pytorch_import_json(const tide_source *source,
                                                    tide_snapshot *snapshot, tide_error *error);
/* True when the object that begins there has a key of PyTorch's first. */
bool tide_pytorch_is_json(const char *text);

#ifdef __cplusplus
}
#endif

#endif
