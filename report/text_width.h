/* text_width.h - the width of a text in terminal columns, and cutting it to fewer.
 *
 * Texts are unchecked UTF-8: a byte that does not begin a character counts as one column. East
 * Asian wide characters and pictures count as two, combining marks as none.
 */
#ifndef TIDE_REPORT_TEXT_WIDTH_H
#define TIDE_REPORT_TEXT_WIDTH_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

size_t tide_text_width(const char *text);

/* The bytes of the longest prefix that fits into `columns`, at least one character; 0 for an empty
 * text. */
size_t tide_text_fit(const char *text, size_t columns);

/* Writes the text in at most `columns` columns: whole if it fits, else its beginning and its end
 * around `dots`. Returns the columns that were written. */
size_t tide_text_put_cut(FILE *out, const char *text, size_t columns, const char *dots);

#ifdef __cplusplus
}
#endif

#endif
