/* html_report.h - the HTML report over snapshots, with the sentence that compares them, and answers
 * that need a replay.
 */
#ifndef TIDE_CLI_HTML_REPORT_H
#define TIDE_CLI_HTML_REPORT_H

#include <stddef.h>

#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_html_run {
    const char *label; /* borrowed; NULL: the file's name */
    const char *path;  /* borrowed; the path of the snapshot, whose file is embedded unchanged */
    const tide_snapshot *snapshot; /* borrowed; the same snapshot, loaded */
} tide_html_run;

/* Writes the report on n >= 1 runs to `path`; the first is the base of the comparison. */
TIDE_NODISCARD tide_status tide_html_report_write(const char *path, const tide_html_run *runs,
                                                  size_t n, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
