/* file.h - writes one table as a Parquet file, row by row.
 *
 * The file has one page per column and row group, compressed with GZIP; texts have a dictionary in
 * each row group. A row group ends at TIDE_PARQUET_GROUP_ROWS rows, or sooner if the distinct texts
 * of one column exceed TIDE_PARQUET_DICTIONARY_BYTES. Writing needs memory for one row group and
 * for the footer, which grows by some 100 bytes per column and row group. Like every output, the
 * file is written under a temporary name (common/files/output_file.h). The format: parquet-format
 * of Apache.
 */
#ifndef TIDE_SNAPSHOT_PARQUET_FILE_H
#define TIDE_SNAPSHOT_PARQUET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The writer's name in the footer; readers expect a version in it. */
#define TIDE_PARQUET_CREATED_BY "tidemark version 1"

enum { TIDE_PARQUET_GROUP_ROWS = 131072, TIDE_PARQUET_DICTIONARY_BYTES = 1 << 20 };

typedef enum tide_parquet_type {
    TIDE_PARQUET_INT64 = 0,
    TIDE_PARQUET_INT32,
    TIDE_PARQUET_STRING, /* UTF-8 */
    TIDE_PARQUET_BOOLEAN
} tide_parquet_type;

typedef struct tide_parquet_column {
    const char *name;
    tide_parquet_type type;
    bool is_optional; /* it may be null */
} tide_parquet_column;

/* One entry of the footer's metadata. */
typedef struct tide_parquet_key {
    const char *key, *value;
} tide_parquet_key;

typedef struct tide_parquet_schema {
    const char *table;                  /* name of the root of the schema */
    const tide_parquet_column *columns; /* at least one, in the order of their numbers */
    size_t n_columns;
    const tide_parquet_key *keys; /* must live until the file is committed */
    size_t n_keys;
} tide_parquet_schema;

typedef struct tide_parquet_file tide_parquet_file;

/* All pointers are borrowed for the life of the file. After success call commit or abandon. */
TIDE_NODISCARD tide_status tide_parquet_open(const char *path, const tide_parquet_schema *schema,
                                             const tide_hostmem *mem, tide_parquet_file **ret_file,
                                             tide_error *error);

/* Puts the value of one column in the current row: each column exactly once, in any order. NULL
 * text is null, only for optional columns. Failures stick until end_row. */
void tide_parquet_put_integer(tide_parquet_file *file, size_t column, int64_t value);
void tide_parquet_put_text(tide_parquet_file *file, size_t column, const char *text);
void tide_parquet_put_null(tide_parquet_file *file, size_t column);

/* Ends the row. TIDE_IO: commit returns the reason. */
TIDE_NODISCARD tide_status tide_parquet_end_row(tide_parquet_file *file);

/* Writes the last rows and the footer; only commit or abandon may follow. TIDE_IO: commit returns
 * the reason. */
TIDE_NODISCARD tide_status tide_parquet_finish(tide_parquet_file *file);
/* Whether a write has failed; commit returns the reason. */
bool tide_parquet_has_failed(const tide_parquet_file *file);
/* Renames the file to its final name, if all of it was written. The file is released either way; on
 * failure an older one is unchanged. */
TIDE_NODISCARD tide_status tide_parquet_commit(tide_parquet_file *file, tide_error *error);
/* Instead of commit; NULL is allowed. */
void tide_parquet_abandon(tide_parquet_file *file);

#ifdef __cplusplus
}
#endif

#endif
