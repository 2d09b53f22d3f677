/* export.h - a recording as a folder of Parquet files, one per table, for engines that query many
 * recordings together. docs/reference/engines.md describes the tables.
 *
 * The export reads its source once, from the first event to the last. It needs memory for blocks
 * alive at one time, for names, call stacks and steps, and for one row group of three tables
 * (snapshot/export/parquet/file.h); otherwise its memory does not grow with the events.
 */
#ifndef TIDE_SNAPSHOT_PARQUET_EXPORT_H
#define TIDE_SNAPSHOT_PARQUET_EXPORT_H

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/event_source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_PARQUET_SCHEMA_VERSION = 1 };

/* Checks, before a long reading begins, that the folder can be made and that no table would replace
 * a file that tidemark did not write. TIDE_INVALID names such a file, TIDE_IO the system's reason.
 */
TIDE_NODISCARD tide_status tide_parquet_export_check(const char *folder, tide_error *error);

/* Makes the folder, with its parents, and writes the tables into it. Other files in it are
 * unchanged; tables of an earlier export are replaced when all new ones are complete. A failure
 * before that changes nothing; if the system fails between two renames, "devices" is missing. `mem`
 * NULL: default heap. */
TIDE_NODISCARD tide_status tide_parquet_export(const tide_event_source *source, const char *folder,
                                               const tide_hostmem *mem, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
