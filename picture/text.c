/* Texts of a drawing: made harmless, measured, cut. */
#include <stdio.h>
#include <string.h>

#include "common/text/utf8.h"
#include "picture/drawing_internal.h"

/* Advance widths of Helvetica from ' ' to '~', in thousandths of the size of the font. Arial,
 * Liberation Sans and Nimbus Sans have the same. */
static const uint16_t WIDTHS[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584,
};

enum {
    OTHER_WIDTH = 600, /* of a character that the table does not have, such as an ideograph */
    BOLD_SHARE = 107,  /* per cent: how much wider bold letters are */
    LONGEST_TEXT = 2000
};

#define REPLACEMENT "\xEF\xBF\xBD"
#define ELLIPSIS "\xE2\x80\xA6"

static uint32_t code_of(const unsigned char *text, size_t n) {
    uint32_t value = n == 1 ? text[0] : text[0] & (0xFFU >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        value = (value << 6) | (text[i] & 0x3FU);
    }
    return value;
}

/* Control characters, those that change the direction of text, and those that XML forbids. */
static bool is_harmful(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
           code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

const char *tide_picture_clean(tide_picture_drawing *drawing, const char *text) {
    size_t n_bytes = strlen(text);
    n_bytes = n_bytes < LONGEST_TEXT ? n_bytes : LONGEST_TEXT;
    char *clean = tide_arena_alloc(&drawing->arena, 3 * n_bytes + 1, 1);
    if (clean == NULL) {
        drawing->status = TIDE_NO_MEMORY;
        return NULL;
    }
    size_t n_used = 0;
    for (size_t at = 0; at < n_bytes;) {
        const unsigned char *here = (const unsigned char *)text + at;
        size_t n = tide_utf8_length(here, n_bytes - at);
        if (n == 0 || is_harmful(code_of(here, n))) {
            bool is_space = n == 1 && (here[0] == '\t' || here[0] == '\n');
            n_used += (size_t)sprintf(clean + n_used, "%s", is_space ? " " : REPLACEMENT);
            at += n > 0 ? n : 1;
            continue;
        }
        memcpy(clean + n_used, here, n);
        n_used += n;
        at += n;
    }
    return clean;
}

static int32_t width_of(const char *text, size_t n_bytes, int32_t font, bool is_bold) {
    int64_t sum = 0;
    for (size_t at = 0; at < n_bytes;) {
        const unsigned char *here = (const unsigned char *)text + at;
        size_t n = tide_utf8_length(here, n_bytes - at);
        uint32_t code = n > 0 ? code_of(here, n) : '?';
        sum += code >= ' ' && code <= '~' ? WIDTHS[code - ' ']
               : code == 0xB7             ? 278  /* a middle dot */
               : code == 0x2026           ? 1000 /* an ellipsis */
                                          : OTHER_WIDTH;
        at += n > 0 ? n : 1;
    }
    sum = sum * font / 1000;
    return (int32_t)(is_bold ? sum * BOLD_SHARE / 100 : sum);
}

int32_t tide_picture_text_width(const char *text, int32_t font, bool is_bold) {
    return width_of(text, strlen(text), font, is_bold);
}

/* The place at the end: " (model.py:17)"; the text's end if there is none. */
static const char *place_of(const char *text) {
    size_t n = strlen(text);
    const char *at = n > 0 && text[n - 1] == ')' ? strrchr(text, '(') : NULL;
    return at != NULL && at > text && at[-1] == ' ' ? at - 1 : text + n;
}

/* The most bytes of whole characters that fit. */
static size_t bytes_that_fit(const char *text, size_t n_bytes, int32_t width, int32_t font,
                             bool is_bold) {
    size_t n = 0;
    while (n < n_bytes) {
        size_t next = tide_utf8_length((const unsigned char *)text + n, n_bytes - n);
        next = next > 0 ? next : 1;
        if (width_of(text, n + next, font, is_bold) > width) {
            break;
        }
        n += next;
    }
    return n;
}

void tide_picture_text_fit(const char *text, int32_t width, int32_t font, bool is_bold, char *to,
                           size_t room) {
    if (tide_picture_text_width(text, font, is_bold) <= width) {
        (void)snprintf(to, room, "%s", text);
        return;
    }
    const char *place = place_of(text);
    int32_t place_width = tide_picture_text_width(place, font, is_bold);
    int32_t mark = tide_picture_text_width(ELLIPSIS, font, is_bold);
    if (place_width + mark > width * 3 / 4) { /* the place is too long to be kept whole */
        place = "";
        place_width = 0;
    }
    size_t n = bytes_that_fit(text, strlen(text) - strlen(place), width - place_width - mark, font,
                              is_bold);
    while (n > 0 && text[n - 1] == ' ') {
        n--;
    }
    (void)snprintf(to, room, "%.*s%s%s", (int)n, text, n > 0 ? ELLIPSIS : "", place);
}
