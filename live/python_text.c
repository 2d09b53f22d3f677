#include "live/python_text.h"

#include <string.h>

enum { LENGTH_AT = 16, STATE_AT = 32, MAX_LENGTH = 1 << 20 };

static uint32_t character(const unsigned char *data, unsigned kind, size_t i) {
    uint16_t two = 0;
    uint32_t four = 0;
    if (kind == 1) {
        return data[i];
    }
    if (kind == 2) {
        memcpy(&two, data + 2 * i, sizeof(two));
        return two;
    }
    memcpy(&four, data + 4 * i, sizeof(four));
    return four;
}

/* Bytes of the character as UTF-8. Lone surrogates, which file names may have, become U+FFFD. */
static size_t encode(uint32_t c, char to[4]) {
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        c = 0xfffd;
    }
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

void tide_python_text(const tide_python_version *version, const void *object, char *ret_text,
                      size_t n_room) {
    const unsigned char *text = object;
    uint32_t state = 0;
    int64_t length = 0;
    size_t n = 0;
    ret_text[0] = '?';
    ret_text[n_room > 1 ? 1 : 0] = '\0';
    if (object == NULL) {
        return;
    }
    memcpy(&length, text + LENGTH_AT, sizeof(length));
    memcpy(&state, text + STATE_AT, sizeof(state));
    unsigned kind = state >> 2 & 7u;
    bool is_compact = (state >> 5 & 1u) != 0;
    bool is_ascii = (state >> 6 & 1u) != 0;
    if (length < 0 || length > MAX_LENGTH || !is_compact || (kind != 1 && kind != 2 && kind != 4)) {
        return;
    }
    const unsigned char *data = text + (is_ascii ? version->ascii_head : version->compact_head);
    for (int64_t i = 0; i < length; i++) {
        char bytes[4];
        size_t n_bytes = encode(character(data, kind, (size_t)i), bytes);
        if (n + n_bytes >= n_room) {
            break;
        }
        memcpy(ret_text + n, bytes, n_bytes);
        n += n_bytes;
    }
    ret_text[n] = '\0';
}
