/* utf8.h - characters of text that may or may not be UTF-8. */
#ifndef TIDE_COMMON_UTF8_H
#define TIDE_COMMON_UTF8_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The length of the character at the beginning of `text`, which has n_bytes. 0 if the character is
 * not valid: not UTF-8, longer than necessary, a surrogate, above U+10FFFF, or cut off. NUL is a
 * character of one byte. */
size_t tide_utf8_length(const unsigned char *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
