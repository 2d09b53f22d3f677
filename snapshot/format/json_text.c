/* Unescaping: from the bytes between two quotes to the text that they represent. */
#include <stdbool.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/utf8.h"
#include "snapshot/format/json_friend.h"

/* Value of four hexadecimal digits, or -1. */
static int32_t hex4(const char *text) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = text[i];
        int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* Text of `size` bytes at `at`, being copied. */
typedef struct unescape {
    const char *text; /* borrowed */
    size_t size;
    size_t at; /* next byte of text */
    char *out; /* borrowed; never longer than text */
    size_t n_out;
} unescape;

static void put_utf8(unescape *copy, uint32_t code) {
    unsigned char *out = (unsigned char *)copy->out + copy->n_out;
    if (code < 0x80) {
        out[0] = (unsigned char)code;
        copy->n_out += 1;
    } else if (code < 0x800) {
        out[0] = (unsigned char)(0xC0 | code >> 6);
        out[1] = (unsigned char)(0x80 | (code & 0x3F));
        copy->n_out += 2;
    } else if (code < 0x10000) {
        out[0] = (unsigned char)(0xE0 | code >> 12);
        out[1] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (code & 0x3F));
        copy->n_out += 3;
    } else {
        out[0] = (unsigned char)(0xF0 | code >> 18);
        out[1] = (unsigned char)(0x80 | (code >> 12 & 0x3F));
        out[2] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        out[3] = (unsigned char)(0x80 | (code & 0x3F));
        copy->n_out += 4;
    }
}

/* After "\u": false for a code that is not a character, or U+0000. */
static bool copy_code(unescape *copy) {
    int32_t code = copy->size - copy->at >= 4 ? hex4(copy->text + copy->at) : -1;
    if (code <= 0 || (code >= 0xDC00 && code <= 0xDFFF)) {
        return false;
    }
    copy->at += 4;
    if (code >= 0xD800 && code <= 0xDBFF) {
        const char *low_text = copy->text + copy->at;
        int32_t low = copy->size - copy->at >= 6 && low_text[0] == '\\' && low_text[1] == 'u'
                          ? hex4(low_text + 2)
                          : -1;
        if (low < 0xDC00 || low > 0xDFFF) {
            return false;
        }
        copy->at += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    put_utf8(copy, (uint32_t)code);
    return true;
}

static bool copy_escape(unescape *copy) {
    static const char LETTERS[] = "\"\\/bfnrt";
    static const char MEANINGS[] = "\"\\/\b\f\n\r\t";
    TIDE_ASSERT(copy->size - copy->at >= 2); /* the text's end is no escape */
    copy->at++;
    char letter = copy->text[copy->at++];
    if (letter == 'u') {
        return copy_code(copy);
    }
    const char *known = letter != '\0' ? strchr(LETTERS, letter) : NULL;
    if (known == NULL) {
        return false;
    }
    copy->out[copy->n_out++] = MEANINGS[known - LETTERS];
    return true;
}

/* One character that takes more than one byte of UTF-8. */
static bool copy_utf8(unescape *copy) {
    const unsigned char *from = (const unsigned char *)copy->text + copy->at;
    size_t n_bytes = tide_utf8_length(from, copy->size - copy->at);
    if (n_bytes == 0) {
        return false;
    }
    memcpy(copy->out + copy->n_out, from, n_bytes);
    copy->n_out += n_bytes;
    copy->at += n_bytes;
    return true;
}

/* Copies the next character; false, with the offset still at it, if it is invalid. */
static bool copy_character(unescape *copy) {
    size_t before = copy->at;
    unsigned char c = (unsigned char)copy->text[copy->at];
    if (c != '\\' && c < 0x80) {
        copy->out[copy->n_out++] = copy->text[copy->at++];
        return true;
    }
    if (c == '\\' ? copy_escape(copy) : copy_utf8(copy)) {
        return true;
    }
    copy->at = before;
    return false;
}

static void fail_character(tide_json *json, const unescape *copy, size_t text_at) {
    tide_json_fail(json, TIDE_FORMAT, text_at + copy->at, "%s",
                   copy->text[copy->at] == '\\' ? "an escape that means no character"
                                                : "not UTF-8");
}

bool tide_json_unescape(tide_json *json, size_t text_at, size_t size, char *out,
                        size_t *ret_bytes) {
    unescape copy = {.text = tide_json_bytes(json, text_at), .size = size, .out = out};
    while (copy.at < size) {
        if (!copy_character(&copy)) {
            fail_character(json, &copy, text_at);
            return false;
        }
        TIDE_ASSERT(copy.n_out <= copy.at && copy.at <= size);
    }
    out[copy.n_out] = '\0';
    *ret_bytes = copy.n_out;
    return true;
}

const char *tide_json_copy_text(tide_json *json, size_t text_at, size_t size, tide_arena *arena) {
    size_t n_bytes = 0;
    if (size == 0) {
        return "";
    }
    char *out = tide_arena_alloc(arena, size + 1, 1);
    if (out == NULL) {
        tide_json_fail(json, TIDE_NO_MEMORY, text_at, "no memory for a text of %zu bytes", size);
        return "";
    }
    return tide_json_unescape(json, text_at, size, out, &n_bytes) ? out : "";
}

bool tide_json_check_text(tide_json *json, size_t text_at, size_t size) {
    char character[4];
    unescape copy = {.text = tide_json_bytes(json, text_at), .size = size, .out = character};
    while (copy.at < size) {
        copy.n_out = 0;
        if (!copy_character(&copy)) {
            fail_character(json, &copy, text_at);
            return false;
        }
    }
    return true;
}
