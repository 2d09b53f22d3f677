/* pytorch_import.h - snapshots that PyTorch wrote, as documents of ours.
 *
 * docs/pytorch-snapshots.md says what is read, what is derived and what is lost.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_IMPORT_H
#define TIDE_SNAPSHOT_PYTORCH_IMPORT_H

#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills an empty document from the pickle in `data`, which nobody vouches for: nothing in it is
 * run. TIDE_FORMAT, TIDE_UNSUPPORTED and TIDE_LIMIT name byte offset and key path; the document is
 * then fit for tide_snapshot_destroy alone. `data` need not outlive the call. */
TIDE_NODISCARD tide_status tide_pytorch_import_pickle(const char *data, size_t n_bytes,
                                                      tide_snapshot *snapshot, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
