/* terminal.h - the properties of the terminal to which a stream writes. */
#ifndef TIDE_REPORT_TERMINAL_H
#define TIDE_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

bool tide_terminal_is_one(FILE *out);

/* Columns of the terminal to which `out` writes: $COLUMNS if it is a number above 0, else the width
 * that the terminal reports. 0 if `out` is not a terminal or its width is unknown. */
size_t tide_terminal_columns(FILE *out);

/* Whether the locale of the environment is UTF-8. */
bool tide_terminal_is_utf8(void);

#ifdef __cplusplus
}
#endif

#endif
