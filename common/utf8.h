/* utf8.h - characters of UTF-8 text that nobody vouches for.
 */
#ifndef TIDE_COMMON_UTF8_H
#define TIDE_COMMON_UTF8_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the character that `text` begins with, of n_bytes; 0 when it is none: not UTF-8 at all,
 * too long a form, a surrogate, beyond U+10FFFF, or cut. NUL is a character of one byte. */
size_t tide_utf8_length(const unsigned char *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
