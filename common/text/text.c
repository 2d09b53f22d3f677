#include "common/text/text.h"

#include <stdio.h>
#include <string.h>

#include "common/assert.h"

static const char MARK[] = "...";

tide_text tide_text_in(char *storage, size_t n_room) {
    if (n_room > 0) {
        storage[0] = '\0';
    }
    return (tide_text){.bytes = storage, .n_room = n_room, .is_cut = n_room == 0};
}

static bool continues_character(char byte) {
    return ((unsigned char)byte & 0xC0U) == 0x80U;
}

/* The storage is full to its last byte; makes room for the mark at its end. */
static void cut(tide_text *text) {
    TIDE_ASSERT(text->n_room > 0 && !text->is_cut);
    size_t n_mark = sizeof(MARK) - 1;
    size_t n_last = text->n_room - 1;
    n_mark = n_mark < n_last ? n_mark : n_last;
    size_t n_kept = n_last - n_mark;
    /* The first byte removed shows whether the character before it is complete. */
    while (n_kept > 0 && continues_character(text->bytes[n_kept])) {
        n_kept--;
    }
    memcpy(text->bytes + n_kept, MARK, n_mark);
    text->n_used = n_kept + n_mark;
    TIDE_ASSERT(text->n_used < text->n_room);
    text->bytes[text->n_used] = '\0';
    text->is_cut = true;
}

void tide_text_add_list(tide_text *to, const char *format, va_list arguments) {
    if (to->is_cut) {
        return;
    }
    TIDE_ASSERT(to->n_used < to->n_room);
    size_t n_left = to->n_room - to->n_used;
    int n_wanted = vsnprintf(to->bytes + to->n_used, n_left, format, arguments);
    if (n_wanted < 0) { /* a wide character without a multibyte form: the piece is dropped */
        to->bytes[to->n_used] = '\0';
    } else if ((size_t)n_wanted < n_left) {
        to->n_used += (size_t)n_wanted;
    } else {
        cut(to);
    }
}

void tide_text_add(tide_text *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tide_text_add_list(to, format, arguments);
    va_end(arguments);
}

void tide_text_add_item_list(tide_text *to, const char *separator, const char *format,
                             va_list arguments) {
    if (to->n_used > 0) {
        tide_text_add(to, "%s", separator);
    }
    tide_text_add_list(to, format, arguments);
}

void tide_text_add_item(tide_text *to, const char *separator, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tide_text_add_item_list(to, separator, format, arguments);
    va_end(arguments);
}
