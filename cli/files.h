/* files.h - small things of the file system that commands need.
 */
#ifndef TIDE_CLI_FILES_H
#define TIDE_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_PATH_BYTES = 4096 }; /* of a file name with its NUL, at most */

bool tide_file_is_folder(const char *path);

/* Makes the folder unless it is there; its parent must be. TIDE_IO names path and reason. */
TIDE_NODISCARD tide_status tide_file_make_folder(const char *path, tide_error *error);

/* Both are one and the same file, or would be, where neither exists yet. */
bool tide_file_is_same(const char *path, const char *other);

/* Bytes of a snapshot's path without the ending that says what it is, such as .json.gz or .pickle.
 */
size_t tide_file_stem_bytes(const char *path);

/* Opens `path` in the desktop's browser. TIDE_UNSUPPORTED, with the remedy, where there is none. */
TIDE_NODISCARD tide_status tide_browser_open(const char *path, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
