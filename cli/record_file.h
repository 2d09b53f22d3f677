/* record_file.h - appends rows to a CSV file whose header may grow, and that several programs may
 * append to at once.
 *
 * A row names its columns. Columns that the file lacks are added at the end of its header, and
 * every older row gets a 0 in them; a column of the file that the row lacks is 0 in the new row.
 * Older rows keep their text and their order.
 *
 * The whole file is written anew under a temporary name and then renamed, so that a crash or a full
 * disk leaves the older file intact. Writers take turns by a lock on the CSV file itself (flock),
 * so no lock file is left behind. A rename gives the name to another file, which nobody has locked;
 * a writer that waited therefore locks again when the name leads to a file other than the one it
 * opened.
 */
#ifndef TIDE_CLI_RECORD_FILE_H
#define TIDE_CLI_RECORD_FILE_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_RECORD_MAX_COLUMNS = 1024,  /* columns of a file */
    TIDE_RECORD_MAX_BYTES = 64 << 20 /* bytes of a file: it is read whole */
};

/* Rows with the same columns. All pointers are borrowed. */
typedef struct tide_record_rows {
    const char *const *columns; /* n_columns different names, none empty */
    size_t n_columns;           /* 1 .. TIDE_RECORD_MAX_COLUMNS */
    const char *const *cells;   /* n_rows times n_columns texts, row by row; none NULL */
    size_t n_rows;
} tide_record_rows;

/* Appends the rows, and makes the file where there is none. TIDE_IO: the file cannot be read,
 * locked or written; TIDE_FORMAT: it is not such a CSV file (the message names the line) or has
 * none of the columns; TIDE_LIMIT: it is too large. On failure the file is unchanged. */
TIDE_NODISCARD tide_status tide_record_append(const char *path, const tide_record_rows *rows,
                                              tide_error *error);

/* Tells in advance, with the same status codes, whether rows with a column "name" could be
 * appended. It changes no file and leaves none behind. */
TIDE_NODISCARD tide_status tide_record_check(const char *path, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
