/* output_file.h - how a file of the user's comes to be: written under a temporary name beside its
 * place, and given its own name when it is complete.
 *
 * Whatever fails, what stood there before is as it was, and nothing is left beside it. Of a link,
 * what it leads to is written; a file that is replaced hands on its rights. All functions of one
 * file belong to one thread at a time.
 */
#ifndef TIDE_COMMON_OUTPUT_FILE_H
#define TIDE_COMMON_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "common/temporary_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_output_file {
    char path[TIDE_TEMPORARY_PATH_BYTES];   /* as the caller wrote it, for messages */
    char target[TIDE_TEMPORARY_PATH_BYTES]; /* what is written: absolute, links followed */
    tide_temporary_file temporary;          /* owned; its content so far */
    int reason;                             /* errno of the first write that failed; 0 */
} tide_output_file;

/* Makes the temporary file. TIDE_IO, naming path, reason and remedy: the folder cannot be written,
 * or PATH exists and is write-protected or no regular file. Ends with commit or abandon. */
TIDE_NODISCARD tide_status tide_output_file_open(const char *path, tide_output_file *ret_file,
                                                 tide_error *error);

/* Appends. Errors stick until commit; false: there was one. */
bool tide_output_file_write(tide_output_file *file, const void *bytes, size_t n_bytes);

/* Makes it safe on the disk and gives it its name, in the place of an older file. On failure it is
 * removed; the message names path and reason. It is closed in any case. */
TIDE_NODISCARD tide_status tide_output_file_commit(tide_output_file *file, tide_error *error);
/* The same, but TIDE_INVALID instead of replacing a file that is there by now. */
TIDE_NODISCARD tide_status tide_output_file_commit_new(tide_output_file *file, tide_error *error);

/* Instead of commit: removes and closes it. */
void tide_output_file_abandon(tide_output_file *file);

#ifdef __cplusplus
}
#endif

#endif
