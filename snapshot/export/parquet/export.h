/* export.h - a recording as a folder of Parquet files, one for each table, for engines that query
 * many recordings at once. docs/reference/engines.md describes the tables.
 *
 * It reads its source once, from the first event to the last. Its memory is that of what is alive
 * at once, of names, call stacks and steps, and of one row group of three tables
 * (snapshot/export/parquet/file.h); it does not grow with the events otherwise.
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

/* Checks that the folder can be made, and that no table would replace a file that tidemark did not
 * write, before a long reading begins. TIDE_INVALID names such a file, TIDE_IO the reason of the
 * system. */
TIDE_NODISCARD tide_status tide_parquet_export_check(const char *folder, tide_error *error);

/* Makes the folder, with those above it, and writes the tables into it. Other files in it stay as
 * they are; tables of an earlier export are replaced when all new ones are complete. On failure
 * before that nothing has changed; if the system fails between two renames, "devices" is missing.
 * `mem` NULL: default heap. */
TIDE_NODISCARD tide_status tide_parquet_export(const tide_event_source *source, const char *folder,
                                               const tide_hostmem *mem, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
