/* utf8.c - checks one character of UTF-8. */
#include "common/text/utf8.h"

size_t tide_utf8_length(const unsigned char *text, size_t n_bytes) {
    if (n_bytes == 0) {
        return 0;
    }
    if (text[0] < 0x80) {
        return 1;
    }
    /* 0x80..0xC1 cannot begin a character: continuation bytes, and two-byte forms of ASCII. */
    size_t n = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
    if (text[0] < 0xC2 || text[0] > 0xF4 || n > n_bytes) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    /* In this order: a three-byte form that is too long, a surrogate, a four-byte form that is too
     * long, and a number above U+10FFFF. */
    if ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F) ||
        (text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F)) {
        return 0;
    }
    return n;
}
