/* text_file.h - single values out of small text files, such as those in /proc.
 */
#ifndef TIDE_COMMON_TEXT_FILE_H
#define TIDE_COMMON_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rest of the first line that begins with `key`, after the first `separator`, without quotes
 * and blanks before it; cut to n_room bytes with the NUL. False, and nothing is written, when there
 * is no such file or line. */
bool tide_text_file_value(const char *path, const char *key, char separator, char *ret_value,
                          size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
