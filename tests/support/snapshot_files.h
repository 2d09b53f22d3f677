/* snapshot_files.h - files of tests in a separate folder, which each test program makes and
 * removes.
 */
#ifndef TIDE_TESTS_SUPPORT_SNAPSHOT_FILES_H
#define TIDE_TESTS_SUPPORT_SNAPSHOT_FILES_H

#include <stddef.h>

#include "common/status.h"

enum { SNAPSHOT_PATH_BYTES = 256 };

/* Writes the path of NAME in the folder of this process, which it makes if it is missing. */
void snapshot_path(char path[SNAPSHOT_PATH_BYTES], const char *name);
/* Removes the file, and the folder if it is then empty. */
void snapshot_remove(const char *path);
/* Files in the folder, whatever their names. */
size_t snapshot_count_files(void);

/* The whole file and a NUL, from malloc; NULL if it cannot be read. */
char *snapshot_file_text(const char *path, size_t *ret_bytes);
/* At most max_bytes of the text of a file that may be compressed, and a NUL, from malloc. */
TIDE_NODISCARD tide_status snapshot_unzip(const char *path, size_t max_bytes, char **ret_text,
                                          size_t *ret_bytes, tide_error *error);
/* Ends the program when it cannot be written. */
void snapshot_write_file(const char *path, const void *text, size_t n_bytes);

#endif
