/* text_file.h - reads text files: a whole one, or single values of those in /proc. */
#ifndef TIDE_COMMON_TEXT_FILE_H
#define TIDE_COMMON_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the rest of the first line that begins with `key`, from its first `separator` on, without
 * quotes and leading blanks. It is cut to n_room bytes, including the NUL. False, with nothing
 * written, if the file or the line is missing. */
bool tide_text_file_value(const char *path, const char *key, char separator, char *ret_value,
                          size_t n_room);

/* Reads the whole file and adds a NUL, which ret_n_bytes (may be NULL) does not count. The caller
 * releases the text by tide_hostmem_default(). TIDE_IO: it cannot be opened or read; TIDE_LIMIT: it
 * has more than max_bytes. The message begins with the path. */
TIDE_NODISCARD tide_status tide_text_file_read(const char *path, size_t max_bytes, char **ret_text,
                                               size_t *ret_n_bytes, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
