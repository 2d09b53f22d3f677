#include "snapshot/format/window.h"

#include <string.h>

enum { FIRST_BYTES = 256 * 1024 }; /* of the buffer */

void tide_window_init(tide_window *window, const char *bytes, size_t n_bytes) {
    *window = (tide_window){.bytes = bytes, .end = n_bytes};
}

void tide_window_open(tide_window *window, const tide_source *source, const tide_hostmem *mem) {
    *window = (tide_window){.mem = mem, .source = source};
}

void tide_window_close(tide_window *window) {
    if (window->mem != NULL) {
        window->mem->release(window->mem->ctx, window->buffer);
    }
    *window = (tide_window){0};
}

/* Makes room for at least one byte after the kept ones. */
static bool make_room(tide_window *window, size_t keep) {
    size_t n_kept = window->end - keep;
    if (n_kept > 0 && keep > window->begin) {
        memmove(window->buffer, window->buffer + (keep - window->begin), n_kept);
    }
    window->begin = keep;
    if (n_kept < window->capacity) {
        return true;
    }
    size_t capacity = window->capacity == 0 ? FIRST_BYTES : 2 * window->capacity;
    char *buffer = window->mem->resize(window->mem->ctx, window->buffer, capacity);
    if (buffer == NULL) {
        window->status = TIDE_NO_MEMORY;
        return false;
    }
    window->buffer = buffer;
    window->bytes = buffer;
    window->capacity = capacity;
    return true;
}

bool tide_window_more(tide_window *window, size_t keep, tide_error *error) {
    if (window->source == NULL) {
        return false;
    }
    keep = keep < window->begin ? window->begin : keep > window->end ? window->end : keep;
    if (!make_room(window, keep)) {
        window->source = NULL;
        return false;
    }
    size_t n_here = window->end - window->begin;
    size_t n_more = 0;
    window->status = window->source->read(window->source->ctx, window->buffer + n_here,
                                          window->capacity - n_here, &n_more, error);
    if (window->status != TIDE_OK || n_more == 0) {
        window->source = NULL;
        return false;
    }
    window->end += n_more;
    return true;
}
