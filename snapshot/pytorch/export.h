/* export.h - writes our documents as snapshots that PyTorch's tools open.
 *
 * docs/reference/pytorch-snapshots.md describes what is written, and what the format cannot hold.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_EXPORT_H
#define TIDE_SNAPSHOT_PYTORCH_EXPORT_H

#include "snapshot/export/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_pytorch_form {
    TIDE_PYTORCH_PICKLE = 0, /* protocol 4: for PyTorch's tools and every memory_viz */
    TIDE_PYTORCH_JSON        /* plain JSON: for the memory_viz of 2026; stacks are repeated */
} tide_pytorch_form;

/* Writes the document to the sink. TIDE_LIMIT, before anything is written: an address, size or
 * handle is 2^53 or more, which viewers in JavaScript cannot hold. */
TIDE_NODISCARD tide_status tide_pytorch_export(const tide_snapshot *snapshot,
                                               tide_pytorch_form form, const tide_export_sink *sink,
                                               tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
