/* record_file.h - appends rows to a CSV file whose header may grow, and to which several programs
 * may append concurrently.
 *
 * A row names its columns. Columns that the file lacks are added at the end of its header, and
 * every older row gets a 0 in them; a column of the file that the row lacks is 0 in the new row.
 * Older rows keep their text and their order.
 *
 * The whole file is rewritten under a temporary name and then renamed, so a crash or a full disk
 * leaves the older file intact. Writers take turns by a lock on the CSV file itself (flock), so
 * there is no lock file. After a rename the path names another file, which is not locked, so a
 * writer that waited locks again if the path leads to a different file than the one it opened.
 */
#ifndef TIDE_MODEL_COMMANDS_RECORD_FILE_H
#define TIDE_MODEL_COMMANDS_RECORD_FILE_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_RECORD_MAX_COLUMNS = 1024,  /* columns of a file */
    TIDE_RECORD_MAX_BYTES = 64 << 20 /* limit of a file's bytes: it is read whole */
};

/* Rows with the same columns. All pointers are borrowed. */
typedef struct tide_record_rows {
    const char *const *columns; /* n_columns different names, none empty */
    size_t n_columns;           /* 1 .. TIDE_RECORD_MAX_COLUMNS */
    const char *const *cells;   /* n_rows times n_columns texts, row by row; none NULL */
    size_t n_rows;
} tide_record_rows;

/* Appends the rows, and makes the file if it does not exist. TIDE_IO if the file cannot be read,
 * locked or written; TIDE_FORMAT if it is not such a CSV file (the message names the line) or has
 * none of the columns; TIDE_LIMIT if it is too large. On failure the file is unchanged. */
TIDE_NODISCARD tide_status tide_record_append(const char *path, const tide_record_rows *rows,
                                              tide_error *error);

/* Checks in advance, with the same status codes, whether rows with a column "name" could be
 * appended. Changes no file and adds none. */
TIDE_NODISCARD tide_status tide_record_check(const char *path, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
