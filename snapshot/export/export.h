/* export.h - snapshots in the formats of other tools: one exporter each, in one table.
 *
 * An exporter writes to a sink and knows no files. The document must be a valid one
 * (tide_snapshot_load and tide_capture give nothing else). Nothing here prints.
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

/* What an exporter of a state may be told. */
typedef struct tide_export_options {
    int64_t at_event; /* row after which the state holds, -1: before the first, or
                         TIDE_EXPORT_PEAK */
    int64_t device;   /* whose state; -1: that of the device with the highest peak */
} tide_export_options;

/* Takes the bytes in order. A failure ends the export and is returned. */
typedef struct tide_export_sink {
    tide_status (*write)(void *ctx, const char *bytes, size_t n_bytes);
    void *ctx; /* borrowed; write's first */
} tide_export_sink;

typedef struct tide_exporter {
    const char *name; /* "perfetto" */
    const char *what; /* a phrase for --help: what it holds and what opens it */
    bool is_binary;   /* nothing for a terminal */
    bool is_state;    /* of one instant: it heeds the options */
    tide_status (*write)(const tide_snapshot *snapshot, const tide_export_options *options,
                         const tide_export_sink *sink, tide_error *error);
} tide_exporter;

/* The i-th; NULL past the last. */
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
