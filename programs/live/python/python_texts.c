/* python_texts.c - text objects of CPython as UTF-8. */
#include "programs/live/python/python_frames_internal.h"

enum { KIND_BITS = 7, COMPACT_AFTER_KIND = 3, ASCII_AFTER_KIND = 4, UNREADABLE = 0xfffd };

/* str or a subclass of it: a file's name given to compile() may be one. */
static bool is_text(const tide_python_view *view, const void *text) {
    if (tide_python_is(text, view->text_type)) {
        return true;
    }
    const void *type =
        tide_python_plausible(text) ? tide_python_pointer(text, TIDE_PYTHON_TYPE) : NULL;
    const void *type_of_text = tide_python_pointer(view->text_type, TIDE_PYTHON_TYPE);
    return tide_python_is(type, type_of_text) &&
           (tide_python_size(type, TIDE_PYTHON_TYPE_FLAGS) & TIDE_PYTHON_TEXT_SUBCLASS) != 0;
}

static uint32_t character(const void *data, size_t i, unsigned width) {
    uint32_t c = 0;
    memcpy(&c, (const char *)data + i * width, width);
    bool is_surrogate = c >= 0xd800 && c < 0xe000;
    return c == 0 || c > 0x10ffff || is_surrogate ? UNREADABLE : c;
}

/* Writes up to 4 bytes, and returns their number. */
static size_t encode(uint32_t c, char *ret) {
    if (c < 0x80) {
        ret[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char FIRST[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6) {
        ret[i] = (char)(0x80 | (c & 0x3f));
    }
    ret[0] = (char)(FIRST[n] | c);
    return n;
}

void tide_python_view_text(const tide_python_view *view, const void *text, char *ret,
                           size_t n_ret) {
    const tide_python_layout *layout = &view->layout;
    size_t n = 0;
    tide_python_unknown_text(ret, n_ret);
    if (n_ret == 0 || !is_text(view, text)) {
        return;
    }
    uint32_t state = (uint32_t)tide_python_int(text, layout->text_state) >> layout->text_kind_shift;
    unsigned width = state & KIND_BITS;
    int64_t length = tide_python_size(text, layout->text_length);
    bool compact = (state >> COMPACT_AFTER_KIND & 1) != 0,
         ascii = (state >> ASCII_AFTER_KIND & 1) != 0;
    const void *data = (const char *)text +
                       (compact && ascii ? layout->text_ascii_data : layout->text_compact_data);
    if (!compact) {
        data = tide_python_pointer(data, 0);
    }
    if ((width != 1 && width != 2 && width != 4) || length < 0 ||
        (!compact && !tide_python_plausible(data))) {
        return;
    }
    for (size_t i = 0; i < (size_t)length; i++) {
        char bytes[4];
        size_t n_bytes = encode(character(data, i, width), bytes);
        if (n + n_bytes >= n_ret) {
            break;
        }
        memcpy(ret + n, bytes, n_bytes);
        n += n_bytes;
    }
    ret[n] = '\0';
}
