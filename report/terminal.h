/* terminal.h - what is known of the terminal that a stream writes to.
 */
#ifndef TIDE_REPORT_TERMINAL_H
#define TIDE_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

bool tide_terminal_is_one(FILE *out);

/* Columns of the terminal behind `out`: $COLUMNS where it is a number above 0, else what the
 * terminal says of itself. 0: `out` is no terminal, or nobody knows its width. */
size_t tide_terminal_columns(FILE *out);

/* Whether the locale of the environment says that text is UTF-8. */
bool tide_terminal_is_utf8(void);

#ifdef __cplusplus
}
#endif

#endif
