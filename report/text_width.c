#define _POSIX_C_SOURCE 200809L /* strnlen */
#include "report/text_width.h"

#include <stdint.h>
#include <string.h>

#include "common/text/utf8.h"

/* Code points from first to last. */
typedef struct range {
    uint32_t first; /* of the range */
    uint32_t last;  /* of it as well */
} range;

/* Blocks of combining marks and of characters that are not shown (Unicode 15). */
static const range NARROW[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x2066, 0x206F}, {0x20D0, 0x20FF},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};

/* Blocks whose characters are wide (Unicode 15, East Asian Width W and F), and pictures. */
static const range WIDE[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

static int is_in(const range *ranges, size_t n_ranges, uint32_t point) {
    for (size_t i = 0; i < n_ranges; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last) {
            return 1;
        }
    }
    return 0;
}

static uint32_t point_of(const unsigned char *text, size_t n_bytes) {
    static const unsigned char FIRST[] = {0, 0x7F, 0x1F, 0x0F, 0x07}; /* bits of the first byte */
    uint32_t point = text[0] & FIRST[n_bytes];
    for (size_t i = 1; i < n_bytes; i++) {
        point = point << 6 | (text[i] & 0x3FU);
    }
    return point;
}

/* The columns of the character that the text begins with, and its bytes. */
static size_t width_of_next(const char *text, size_t *ret_bytes) {
    const unsigned char *bytes = (const unsigned char *)text;
    size_t n = tide_utf8_length(bytes, strnlen(text, 4));
    *ret_bytes = n > 0 ? n : 1;
    if (n < 2) {
        return 1;
    }
    uint32_t point = point_of(bytes, n);
    if (is_in(NARROW, sizeof(NARROW) / sizeof(NARROW[0]), point)) {
        return 0;
    }
    return is_in(WIDE, sizeof(WIDE) / sizeof(WIDE[0]), point) ? 2 : 1;
}

size_t tide_text_width(const char *text) {
    size_t width = 0;
    size_t n_bytes = 0;
    for (; *text != '\0'; text += n_bytes) {
        width += width_of_next(text, &n_bytes);
    }
    return width;
}

/* The longest prefix of at most `columns`: its bytes, and its width in columns. */
static size_t beginning(const char *text, size_t columns, size_t *ret_width) {
    size_t at = 0;
    size_t n_bytes = 0;
    *ret_width = 0;
    while (text[at] != '\0') {
        size_t next = width_of_next(text + at, &n_bytes);
        if (*ret_width + next > columns) {
            break;
        }
        *ret_width += next;
        at += n_bytes;
    }
    return at;
}

size_t tide_text_fit(const char *text, size_t columns) {
    size_t width = 0;
    size_t n_bytes = beginning(text, columns, &width);
    if (n_bytes == 0 && text[0] != '\0') {
        (void)width_of_next(text, &n_bytes);
    }
    return n_bytes;
}

/* The longest suffix of at most `columns` that does not begin with a combining mark. */
static const char *end_of(const char *text, size_t columns, size_t *ret_width) {
    size_t width = tide_text_width(text);
    size_t n_bytes = 0;
    while (*text != '\0') {
        size_t next = width_of_next(text, &n_bytes);
        if (width <= columns && next > 0) {
            break;
        }
        width -= next;
        text += n_bytes;
    }
    *ret_width = width;
    return text;
}

size_t tide_text_put_cut(FILE *out, const char *text, size_t columns, const char *dots) {
    size_t width = tide_text_width(text);
    if (width <= columns) {
        fputs(text, out);
        return width;
    }
    size_t n_dots = tide_text_width(dots);
    if (columns <= n_dots) {
        size_t n = beginning(text, columns, &width);
        (void)fwrite(text, 1, n, out); /* the caller checks `out` for errors */
        return width;
    }
    size_t end_width = 0;
    size_t n = beginning(text, (columns - n_dots + 1) / 2, &width);
    const char *end = end_of(text, (columns - n_dots) / 2, &end_width);
    (void)fwrite(text, 1, n, out); /* the caller checks `out` for errors */
    fputs(dots, out);
    fputs(end, out);
    return width + n_dots + end_width;
}
