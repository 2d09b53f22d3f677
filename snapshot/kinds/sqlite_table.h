/* sqlite_table.h - reads the rows of a table of an SQLite database, from the first to the last.
 *
 * Only what the reports of Nsight Systems need: tables without WITHOUT ROWID, no index, no journal
 * (a database that a program is writing may be read wrongly). The file is untrusted.
 * Format: https://www.sqlite.org/fileformat2.html
 */
#ifndef TIDE_SNAPSHOT_SQLITE_TABLE_H
#define TIDE_SNAPSHOT_SQLITE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_sqlite tide_sqlite;

/* Opens a database; the caller closes it. TIDE_FORMAT: it is none, or damaged. */
TIDE_NODISCARD tide_status tide_sqlite_open(const char *path, const tide_hostmem *mem,
                                            tide_sqlite **ret_sqlite, tide_error *error);
void tide_sqlite_close(tide_sqlite *sqlite);

/* Finds a table. *ret_found: the database has it, and it is the one that the next two ask about. */
TIDE_NODISCARD tide_status tide_sqlite_find(tide_sqlite *sqlite, const char *table, bool *ret_found,
                                            tide_error *error);

/* The number of a column of the table that was found; -1: it has no such column. */
int tide_sqlite_column(const tide_sqlite *sqlite, const char *column);

/* A row; valid during the call. */
typedef struct tide_sqlite_row {
    const unsigned char *bytes;
    size_t n_bytes;
} tide_sqlite_row;

/* The integer in a column; false: another type, or NULL. */
bool tide_sqlite_integer(const tide_sqlite_row *row, int column, int64_t *ret_integer);
/* The text in a column, cut to n_room - 1 bytes; false: another type, or NULL. */
bool tide_sqlite_text(const tide_sqlite_row *row, int column, char *ret_text, size_t n_room);

/* Calls `each` for all rows, until it fails. */
TIDE_NODISCARD tide_status tide_sqlite_each(tide_sqlite *sqlite,
                                            tide_status (*each)(void *ctx,
                                                                const tide_sqlite_row *row),
                                            void *ctx, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
