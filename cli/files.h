/* files.h - helpers for files and paths.
 */
#ifndef TIDE_CLI_FILES_H
#define TIDE_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_PATH_BYTES = 4096 }; /* the longest file name, with its NUL */

bool tide_file_is_folder(const char *path);

/* Makes the folder unless it exists; its parent must exist. TIDE_IO names the path and the reason.
 */
TIDE_NODISCARD tide_status tide_file_make_folder(const char *path, tide_error *error);

/* Makes the folders that the file's path leads through and that do not exist. TIDE_IO as above. */
TIDE_NODISCARD tide_status tide_file_make_parents(const char *path, tide_error *error);

/* Whether both paths lead to the same file, or would if it existed. */
bool tide_file_is_same(const char *path, const char *other);

/* Opens `path` in the desktop's browser. TIDE_UNSUPPORTED, with the remedy, if there is none. */
TIDE_NODISCARD tide_status tide_browser_open(const char *path, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
