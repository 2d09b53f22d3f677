/* export_friend.h - shared by the exporters: their table entries, buffered text for a sink, and
 * byte totals per row.
 */
#ifndef TIDE_SNAPSHOT_EXPORT_FRIEND_H
#define TIDE_SNAPSHOT_EXPORT_FRIEND_H

#include "snapshot/export/export.h"
#include "snapshot/analysis/lifetimes.h"

enum { TIDE_EXPORT_BUFFER_BYTES = 65536 };

/* export_perfetto.c, export_folded.c, export_csv.c, pytorch/export.c, export_tidemark.c */
extern const tide_exporter tide_exporter_perfetto;
extern const tide_exporter tide_exporter_folded;
extern const tide_exporter tide_exporter_csv;
extern const tide_exporter tide_exporter_pytorch;
extern const tide_exporter tide_exporter_pytorch_json;
extern const tide_exporter tide_exporter_tidemark;

/* Buffered text for a sink. Errors stick. */
typedef struct tide_export_text {
    const tide_export_sink *sink; /* borrowed */
    tide_status status;           /* first failure */
    size_t n_used;                /* bytes in the buffer */
    char buffer[TIDE_EXPORT_BUFFER_BYTES];
} tide_export_text;

/* export.c. The caller releases it with `mem`; NULL: no memory. */
tide_export_text *tide_export_text_create(const tide_export_sink *sink, const tide_hostmem *mem);
void tide_export_put(tide_export_text *text, const char *bytes);
void tide_export_put_n(tide_export_text *text, const char *bytes, size_t n_bytes);
void tide_export_put_integer(tide_export_text *text, int64_t value);
/* Flushes the buffer; returns the first failure. */
TIDE_NODISCARD tide_status tide_export_text_finish(tide_export_text *text);

/* Two totals of one device at one instant. */
typedef struct tide_export_totals {
    int64_t allocated_bytes; /* as the summary counts them */
    int64_t reserved_bytes;
} tide_export_totals;

/* The totals before the first row, and after each row those of its device. */
typedef struct tide_export_series {
    const tide_hostmem *mem;   /* borrowed */
    tide_export_totals *start; /* owned; one for each device */
    tide_export_totals *after; /* owned; one for each row */
} tide_export_series;

/* export_series.c */
TIDE_NODISCARD tide_status tide_export_series_init(tide_export_series *series,
                                                   const tide_snapshot *snapshot,
                                                   tide_error *error);
void tide_export_series_fini(tide_export_series *series);

#endif
