/* The page's colours (viewer/src/words/colours.js, category_table.js): Okabe and Ito's palette,
 * which colour-blind readers can distinguish. */
#include <string.h>

#include "common/event.h"
#include "common/text/utf8.h"
#include "picture/series_internal.h"

/* Of the largest groups; the first ones are also those of the built-in categories. */
static const uint32_t RANKED[] = {
    0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0xd55e00, 0x56b4e9, 0xf0e442, 0x651b4a,
    0x73ecbd, 0x9f4502, 0x27577b, 0xcec877, 0x98caf4, 0x783812, 0xd39fba, 0x693d55,
    0xa29c4b, 0xfdb533, 0x3e99dc, 0xa5603c, 0xe7b2ce, 0x74b499, 0xb4af5e, 0xb8724e,
};

enum { N_RANKED = sizeof(RANKED) / sizeof(RANKED[0]), N_TAKEN = 9 };

static const struct {
    const char *name;
    uint32_t colour;
} BUILT_IN[] = {
    {"parameter", 0x0072b2}, {"optimizer_state", 0xcc79a7},
    {"gradient", 0xe69f00},  {"input", 0x56b4e9},
    {"workspace", 0xd55e00}, {"weight_copy", 0x651b4a},
    {"kv_cache", 0x73ecbd},  {"activation", 0x009e73},
    {"temporary", 0xf0e442}, {"unknown", TIDE_PICTURE_NO_COLOUR},
};

uint32_t tide_picture_colour_ranked(size_t rank) {
    return RANKED[rank % N_RANKED];
}

/* The first unit of UTF-16 of the character at `text`, as JavaScript counts. */
static uint32_t utf16_unit(const unsigned char *text, size_t n_bytes) {
    uint32_t value = n_bytes == 1   ? text[0]
                     : n_bytes == 2 ? text[0] & 0x1FU
                     : n_bytes == 3 ? text[0] & 0x0FU
                                    : text[0] & 0x07U;
    for (size_t i = 1; i < n_bytes; i++) {
        value = (value << 6) | (text[i] & 0x3FU);
    }
    return value < 0x10000 ? value : 0xD800 + ((value - 0x10000) >> 10);
}

/* A file's own category gets one of the colours that no built-in one has, only by its letters. */
uint32_t tide_picture_colour_category(const char *name) {
    for (size_t i = 0; i < sizeof(BUILT_IN) / sizeof(BUILT_IN[0]); i++) {
        if (strcmp(BUILT_IN[i].name, name) == 0) {
            return BUILT_IN[i].colour;
        }
    }
    size_t sum = 0;
    size_t n_bytes = strlen(name);
    for (size_t at = 0; at < n_bytes;) {
        const unsigned char *text = (const unsigned char *)name + at;
        size_t n = tide_utf8_length(text, n_bytes - at);
        n = n > 0 ? n : 1;
        sum = (sum * 31 + utf16_unit(text, n)) % (N_RANKED - N_TAKEN);
        at += n;
    }
    return RANKED[N_TAKEN + sum];
}
