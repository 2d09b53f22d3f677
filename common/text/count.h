/* count.h - numbers of things in the form that people read. */
#ifndef TIDE_COMMON_COUNT_H
#define TIDE_COMMON_COUNT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_COUNT_TEXT = 32 }; /* room for any text of tide_count_format */

/* "4,096". Returns `text`. */
char *tide_count_format(int64_t n, char text[TIDE_COUNT_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
