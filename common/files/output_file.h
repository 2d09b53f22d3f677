/* output_file.h - files written for the user. A file is written under a temporary name in the
 * folder of its target, and renamed when it is complete.
 *
 * If anything fails, the older file is unchanged and no temporary file remains. A link is followed
 * to its target. The new file keeps the owner and the rights of the file it replaces. One thread at
 * a time may use a file.
 */
#ifndef TIDE_COMMON_OUTPUT_FILE_H
#define TIDE_COMMON_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "common/files/temporary_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_output_file {
    char path[TIDE_TEMPORARY_PATH_BYTES];   /* as the caller wrote it, for messages */
    char target[TIDE_TEMPORARY_PATH_BYTES]; /* the file that is written: absolute, links followed */
    tide_temporary_file temporary;          /* owned; its content so far */
    int reason;                             /* errno of the first write that failed; 0: none */
} tide_output_file;

/* Makes the temporary file. TIDE_IO: the folder cannot be written, or `path` is write-protected or
 * not a regular file; the message names path, reason and remedy. After success call commit or
 * abandon. */
TIDE_NODISCARD tide_status tide_output_file_open(const char *path, tide_output_file *ret_file,
                                                 tide_error *error);

/* Appends. False: this or an earlier write failed; commit reports it. */
bool tide_output_file_write(tide_output_file *file, const void *bytes, size_t n_bytes);

/* Synchronises the file with the disk, closes it and gives it its name, replacing an older file. On
 * failure the new file is removed; the message names path and reason. */
TIDE_NODISCARD tide_status tide_output_file_commit(tide_output_file *file, tide_error *error);
/* The same, but TIDE_INVALID if a file of that name exists meanwhile. */
TIDE_NODISCARD tide_status tide_output_file_commit_new(tide_output_file *file, tide_error *error);

/* Instead of commit: closes and removes the file. */
void tide_output_file_abandon(tide_output_file *file);

#ifdef __cplusplus
}
#endif

#endif
