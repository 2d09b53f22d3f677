/* text_width.h - how many columns of a terminal a text takes, and a text that is cut to fewer.
 *
 * Texts are UTF-8 that nobody vouches for: a byte that begins no character is one column. East
 * Asian wide characters and pictures take two, marks that combine with the letter before them none.
 */
#ifndef TIDE_REPORT_TEXT_WIDTH_H
#define TIDE_REPORT_TEXT_WIDTH_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

size_t tide_text_width(const char *text);

/* The bytes of the longest beginning that fits into `columns`, and of one character at least; 0 of
 * an empty text. */
size_t tide_text_fit(const char *text, size_t columns);

/* Writes the text in `columns` columns at most: whole where that is wide enough, else its beginning
 * and its end around `dots`. Returns the columns that were written. */
size_t tide_text_put_cut(FILE *out, const char *text, size_t columns, const char *dots);

#ifdef __cplusplus
}
#endif

#endif
