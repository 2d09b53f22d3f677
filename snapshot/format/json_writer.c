#include "snapshot/format/json_writer.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/utf8.h"

enum {
    NUMBER_BYTES = 40, /* room for any number with its comma */
    ESCAPE_BYTES = 8   /* room for one escaped character */
};

void tide_json_writer_init(tide_json_writer *json,
                           tide_status (*sink)(void *ctx, const char *text, size_t n_bytes),
                           void *ctx) {
    json->sink = sink;
    json->ctx = ctx;
    json->status = TIDE_OK;
    json->need_comma = false;
    json->need_line = false;
    json->n_used = 0;
}

static void hand_on(tide_json_writer *json) {
    if (json->status == TIDE_OK && json->n_used > 0) {
        json->status = json->sink(json->ctx, json->buffer, json->n_used);
    }
    json->n_used = 0;
}

tide_status tide_json_writer_finish(tide_json_writer *json) {
    hand_on(json);
    return json->status;
}

static void make_room(tide_json_writer *json, size_t n_bytes) {
    if (TIDE_JSON_BUFFER_BYTES - json->n_used < n_bytes) {
        hand_on(json);
    }
}

static void put_char(tide_json_writer *json, char c) {
    make_room(json, 1);
    json->buffer[json->n_used++] = c;
}

static void put_bytes(tide_json_writer *json, const char *bytes, size_t n_bytes) {
    make_room(json, n_bytes);
    TIDE_ASSERT(n_bytes <= TIDE_JSON_BUFFER_BYTES - json->n_used);
    memcpy(json->buffer + json->n_used, bytes, n_bytes);
    json->n_used += n_bytes;
}

/* put_bytes for any number of bytes: goes to the sink in pieces. */
static void put_long(tide_json_writer *json, const char *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        size_t n_now = n_bytes < TIDE_JSON_BUFFER_BYTES ? n_bytes : TIDE_JSON_BUFFER_BYTES;
        put_bytes(json, bytes, n_now);
        bytes += n_now;
        n_bytes -= n_now;
    }
}

static void break_line(tide_json_writer *json) {
    if (json->need_line) {
        put_char(json, '\n');
        json->need_line = false;
    }
}

static void before_value(tide_json_writer *json) {
    if (json->need_comma) {
        put_char(json, ',');
    }
    break_line(json);
    json->need_comma = true;
}

static void begin(tide_json_writer *json, char bracket) {
    before_value(json);
    put_char(json, bracket);
    json->need_comma = false;
}

static void end(tide_json_writer *json, char bracket) {
    break_line(json);
    put_char(json, bracket);
    json->need_comma = true;
}

void tide_json_begin_object(tide_json_writer *json) {
    begin(json, '{');
}

void tide_json_end_object(tide_json_writer *json) {
    end(json, '}');
}

void tide_json_begin_array(tide_json_writer *json) {
    begin(json, '[');
}

void tide_json_end_array(tide_json_writer *json) {
    end(json, ']');
}

void tide_json_line(tide_json_writer *json) {
    json->need_line = true;
}

/* Writes digits from the right, two at a time: a column has millions of small numbers. */
static char *digits_before(char *end, uint64_t value) {
    static const char PAIRS[] = "00010203040506070809101112131415161718192021222324252627282930313"
                                "23334353637383940414243444546474849505152535455565758596061626364"
                                "656667686970717273747576777879808182838485868788899091929394959697"
                                "9899";
    while (value >= 100) {
        end -= 2;
        memcpy(end, PAIRS + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, PAIRS + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

void tide_json_integer(tide_json_writer *json, int64_t value) {
    make_room(json, NUMBER_BYTES);
    char *out = json->buffer + json->n_used;
    if (json->need_comma) {
        *out++ = ',';
    }
    if (json->need_line) {
        *out++ = '\n';
        json->need_line = false;
    }
    json->need_comma = true;
    if (value >= 0 && value < 10) { /* most values of most columns */
        *out++ = (char)('0' + value);
        json->n_used = (size_t)(out - json->buffer);
        return;
    }
    uint64_t magnitude = (uint64_t)value;
    if (value < 0) {
        *out++ = '-';
        magnitude = UINT64_C(0) - magnitude;
    }
    char digits[24];
    char *first = digits_before(digits + sizeof(digits), magnitude);
    size_t n_digits = (size_t)(digits + sizeof(digits) - first);
    TIDE_ASSERT(n_digits > 0 && n_digits < sizeof(digits));
    memcpy(out, first, n_digits);
    json->n_used = (size_t)(out - json->buffer) + n_digits;
}

void tide_json_real(tide_json_writer *json, double value) {
    if (!isfinite(value)) {
        value = -1.0;
    }
    if (value == floor(value) && fabs(value) < 9007199254740992.0) {
        tide_json_integer(json, (int64_t)value);
        return;
    }
    char text[NUMBER_BYTES];
    int n_bytes = 0;
    for (int precision = 15; precision <= 17; precision++) {
        n_bytes = snprintf(text, sizeof(text), "%.*g", precision, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    char point = localeconv()->decimal_point[0];
    char *found = point == '.' ? NULL : strchr(text, point);
    if (found != NULL) {
        *found = '.';
    }
    before_value(json);
    TIDE_ASSERT(n_bytes > 0 && (size_t)n_bytes < sizeof(text));
    put_bytes(json, text, (size_t)n_bytes);
}

static void put_escaped(tide_json_writer *json, unsigned char c) {
    static const char HEX[] = "0123456789abcdef";
    char escape[ESCAPE_BYTES] = {'\\', 'u', '0', '0', HEX[c >> 4], HEX[c & 15], 0, 0};
    put_bytes(json, escape, 6);
}

/* Puts a character that is not plain; returns the number of bytes read from the text. */
static size_t put_special(tide_json_writer *json, const unsigned char *at) {
    size_t n_bytes = tide_utf8_length(at, 4); /* ends at the terminator at the latest */
    if (n_bytes == 0) {
        put_bytes(json, "\xEF\xBF\xBD", 3);
        return 1;
    }
    if (*at == '"' || *at == '\\') {
        char escape[2] = {'\\', (char)*at};
        put_bytes(json, escape, 2);
    } else if (n_bytes == 1) {
        put_escaped(json, *at);
    } else {
        put_bytes(json, (const char *)at, n_bytes);
    }
    return n_bytes;
}

/* An ASCII character that needs no escape. */
static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '<';
}

static void put_text(tide_json_writer *json, const char *text) {
    put_char(json, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t n_plain = 0;
        while (is_plain(at[n_plain])) {
            n_plain++;
        }
        put_long(json, (const char *)at, n_plain);
        at += n_plain;
        if (*at != '\0') {
            at += put_special(json, at);
        }
    }
    put_char(json, '"');
}

void tide_json_key(tide_json_writer *json, const char *key) {
    before_value(json);
    put_text(json, key);
    put_char(json, ':');
    json->need_comma = false;
}

void tide_json_text(tide_json_writer *json, const char *text) {
    before_value(json);
    put_text(json, text == NULL ? "" : text);
}

void tide_json_boolean(tide_json_writer *json, bool value) {
    before_value(json);
    put_bytes(json, value ? "true" : "false", value ? 4 : 5);
}

void tide_json_raw(tide_json_writer *json, const char *text, size_t n_bytes) {
    before_value(json);
    put_long(json, text, n_bytes);
}

void tide_json_null(tide_json_writer *json) {
    before_value(json);
    put_bytes(json, "null", 4);
}

void tide_json_key_integer(tide_json_writer *json, const char *key, int64_t value) {
    tide_json_key(json, key);
    tide_json_integer(json, value);
}

void tide_json_key_real(tide_json_writer *json, const char *key, double value) {
    tide_json_key(json, key);
    tide_json_real(json, value);
}

void tide_json_key_text(tide_json_writer *json, const char *key, const char *text) {
    tide_json_key(json, key);
    tide_json_text(json, text);
}
