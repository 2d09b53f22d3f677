#define _POSIX_C_SOURCE 200809L /* strnlen */
#include "report/harmless.h"

#include <string.h>

#include "common/text/utf8.h"
#include "report/terminal.h"

enum { MAX_CHARACTER_BYTES = 4 };

/* The first two bytes of a character in UTF-8, and those that may be its last one. */
typedef struct range {
    unsigned char first, second;
    unsigned char low, high; /* of the third byte; 0: the second is the last */
} range;

/* U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. */
static const range BIDIRECTIONAL[] = {{0xD8, 0x9C, 0, 0},
                                      {0xE2, 0x80, 0x8E, 0x8F},
                                      {0xE2, 0x80, 0xAA, 0xAE},
                                      {0xE2, 0x81, 0xA6, 0xA9}};
enum { N_BIDIRECTIONAL = sizeof(BIDIRECTIONAL) / sizeof(BIDIRECTIONAL[0]) };

static size_t bidirectional_bytes(const unsigned char *at) {
    for (size_t i = 0; i < N_BIDIRECTIONAL; i++) {
        const range *of = &BIDIRECTIONAL[i];
        if (at[0] != of->first || at[1] != of->second) {
            continue;
        }
        if (of->low == 0) {
            return 2;
        }
        if (at[2] >= of->low && at[2] <= of->high) {
            return 3;
        }
    }
    return 0;
}

size_t tide_control_bytes(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] == '\0') {
        return 0;
    }
    if (at[0] < ' ' || at[0] == 0x7F) {
        return 1;
    }
    if (at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0) { /* C1 */
        return 2;
    }
    return bidirectional_bytes(at);
}

/* Bytes of the character at the text's beginning; 0 if it is not UTF-8. */
static size_t character_bytes(const char *text) {
    return tide_utf8_length((const unsigned char *)text, strnlen(text, MAX_CHARACTER_BYTES));
}

void tide_text_harmless(const char *text, char *ret_text, size_t n_room) {
    size_t n = 0;
    while (*text != '\0' && n + 1 < n_room) {
        size_t n_control = tide_control_bytes(text);
        size_t n_bytes = character_bytes(text);
        if (n_control > 0 || n_bytes == 0) {
            ret_text[n++] = '?';
            text += n_control > 0 ? n_control : 1;
        } else if (n + n_bytes < n_room) { /* never cuts a character in half */
            memcpy(ret_text + n, text, n_bytes);
            n += n_bytes;
            text += n_bytes;
        } else {
            break;
        }
    }
    ret_text[n] = '\0';
}

/* ---- a message ---- */

static unsigned code_point(const unsigned char *at, size_t n) {
    return n == 1   ? at[0]
           : n == 2 ? (at[0] & 0x1FU) << 6 | (at[1] & 0x3FU)
                    : (at[0] & 0x0FU) << 12 | (at[1] & 0x3FU) << 6 | (at[2] & 0x3FU);
}

static bool is_own_line_feed(const char *at) {
    return at[0] == '\n' && (at[1] == '\0' || strncmp(at + 1, "  ", 2) == 0);
}

void tide_harmless_print(FILE *out, const char *message) {
    for (const char *at = message; *at != '\0';) {
        size_t n_control = tide_control_bytes(at);
        size_t n_bytes = character_bytes(at);
        if (n_bytes == 0) {
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*at++);
        } else if (n_control > 0 && *at != '\t' && !is_own_line_feed(at)) {
            fprintf(out, "\\u%04x", code_point((const unsigned char *)at, n_control));
            at += n_control;
        } else {
            (void)fwrite(at, 1, n_bytes, out); /* the stream keeps its error */
            at += n_bytes;
        }
    }
}

/* ---- a stream ---- */

void tide_harmless_begin(tide_harmless *to, FILE *out) {
    *to = (tide_harmless){.out = out, .is_terminal = tide_terminal_is_one(out)};
}

/* The bytes may be the beginning of a character that must be escaped. */
static bool may_become_one(const unsigned char *held, size_t n) {
    if (n == 1) {
        return held[0] == 0xC2 || held[0] == 0xD8 || held[0] == 0xE2;
    }
    return n == 2 && held[0] == 0xE2 && (held[1] == 0x80 || held[1] == 0x81);
}

static void write_held(tide_harmless *to) {
    (void)fwrite(to->held, 1, to->n_held, to->out); /* the stream keeps its error */
    to->n_held = 0;
}

static void write_byte(tide_harmless *to, char byte) {
    if (((unsigned char)byte & 0xC0) != 0x80) { /* not a continuation of held bytes */
        write_held(to);
    }
    if (byte == '\n' || byte == '\t' || byte == '\0') {
        fputc(byte, to->out);
        return;
    }
    to->held[to->n_held++] = byte;
    to->held[to->n_held] = '\0';
    const unsigned char *held = (const unsigned char *)to->held;
    if (tide_control_bytes(to->held) == to->n_held) {
        fprintf(to->out, "\\u%04x", code_point(held, to->n_held));
        to->n_held = 0;
    } else if (!may_become_one(held, to->n_held)) {
        write_held(to);
    }
}

void tide_harmless_write(tide_harmless *to, const char *bytes, size_t n_bytes) {
    if (!to->is_terminal) {
        (void)fwrite(bytes, 1, n_bytes, to->out);
        return;
    }
    for (size_t i = 0; i < n_bytes; i++) {
        write_byte(to, bytes[i]);
    }
}

void tide_harmless_end(tide_harmless *to) {
    write_held(to);
}
