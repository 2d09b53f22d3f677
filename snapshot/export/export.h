/* export.h - snapshots in the formats of other tools: one exporter each, in one table.
 *
 * An exporter writes to a sink, not to files. The document must be valid, as tide_snapshot_load and
 * tide_capture return it. Nothing here prints.
 */
#ifndef TIDE_SNAPSHOT_EXPORT_H
#define TIDE_SNAPSHOT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_EXPORT_PEAK INT64_MIN /* the instant with most allocated bytes */

/* Options for exporters of a state. */
typedef struct tide_export_options {
    int64_t at_event; /* the state after this row, -1: before the first row, or
                         TIDE_EXPORT_PEAK */
    int64_t device;   /* -1: the device with the highest peak */
} tide_export_options;

/* Gets the bytes in order. A failure ends the export and is returned. */
typedef struct tide_export_sink {
    tide_status (*write)(void *ctx, const char *bytes, size_t n_bytes);
    void *ctx; /* borrowed; first argument of write */
} tide_export_sink;

typedef struct tide_exporter {
    const char *name; /* "perfetto" */
    const char *what; /* a phrase for --help: contents, and tools that open it */
    bool is_binary;   /* not for a terminal */
    bool is_state;    /* of one instant: uses the options */
    tide_status (*write)(const tide_snapshot *snapshot, const tide_export_options *options,
                         const tide_export_sink *sink, tide_error *error);
} tide_exporter;

/* The i-th exporter; NULL after the last. */
const tide_exporter *tide_exporter_at(size_t i);

/* `options` NULL: the peak of the device with the highest one. TIDE_INVALID names an option that
 * does not fit the document. */
TIDE_NODISCARD tide_status tide_export(const tide_exporter *exporter, const tide_snapshot *snapshot,
                                       const tide_export_options *options,
                                       const tide_export_sink *sink, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
