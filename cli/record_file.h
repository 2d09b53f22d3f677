/* record_file.h - rows appended to a CSV file whose header may grow, by several programs at once.
 *
 * A row names its columns. Columns that the file does not have yet are added behind its header, and
 * every older row is filled up with 0; columns of the file that the row does not have are 0 in it.
 * Older rows keep their text and their order.
 *
 * The whole file is written anew under a temporary name and renamed, so that a crash or a full disk
 * leaves the older one. Writers take turns by a lock on the file itself (flock), which each asks
 * for anew when the file behind the name has been replaced meanwhile: nothing but the CSV file is
 * left behind.
 */
#ifndef TIDE_CLI_RECORD_FILE_H
#define TIDE_CLI_RECORD_FILE_H

#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_RECORD_MAX_COLUMNS = 1024,  /* of a file */
    TIDE_RECORD_MAX_BYTES = 64 << 20 /* the same */
};

/* Rows with the same columns. All borrowed. */
typedef struct tide_record_rows {
    const char *const *columns; /* n_columns different names, none empty */
    size_t n_columns;           /* 1 .. TIDE_RECORD_MAX_COLUMNS */
    const char *const *cells;   /* n_rows times n_columns texts, row by row; none NULL */
    size_t n_rows;
} tide_record_rows;

/* Makes the file where there is none, with its folder's rights. TIDE_IO: it cannot be read, locked
 * or written; TIDE_FORMAT: it is no such file, with the line, or has none of the columns;
 * TIDE_LIMIT: it is too large. In all of these the file is as it was. */
TIDE_NODISCARD tide_status tide_record_append(const char *path, const tide_record_rows *rows,
                                              tide_error *error);

/* The same answers for rows with a column "name", before there are any; the file stays as it is,
 * and where there is none there is none afterwards. */
TIDE_NODISCARD tide_status tide_record_check(const char *path, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
