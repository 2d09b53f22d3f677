/* text_file.h - reads single values from small text files, such as those in /proc. */
#ifndef TIDE_COMMON_TEXT_FILE_H
#define TIDE_COMMON_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the rest of the first line that begins with `key`, from its first `separator` on, without
 * quotes and leading blanks. It is cut to n_room bytes, including the NUL. False, with nothing
 * written, if the file or the line is missing. */
bool tide_text_file_value(const char *path, const char *key, char separator, char *ret_value,
                          size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
