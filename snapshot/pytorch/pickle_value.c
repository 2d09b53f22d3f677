/* Reading values: the low bits of the 8 bytes define the others. */
#include <string.h>

#include "snapshot/pytorch/pickle_internal.h"

tide_pickle_kind tide_pickle_kind_of(const tide_pickle *pickle, tide_pickle_value value) {
    switch (TIDE_PICKLE_TAG(value)) {
    case TIDE_PICKLE_TAG_SMALL:
    case TIDE_PICKLE_TAG_LARGE:
        return TIDE_PICKLE_INTEGER;
    case TIDE_PICKLE_TAG_REAL:
        return TIDE_PICKLE_REAL;
    case TIDE_PICKLE_TAG_TEXT:
        return TIDE_PICKLE_TEXT;
    case TIDE_PICKLE_TAG_BYTES:
        return TIDE_PICKLE_BYTES;
    case TIDE_PICKLE_TAG_CONTAINER:
        return (tide_pickle_kind)pickle->containers[value >> TIDE_PICKLE_TAG_BITS].kind;
    default:
        break;
    }
    if (value == TIDE_PICKLE_VALUE_NONE) {
        return TIDE_PICKLE_NONE;
    }
    if (value == TIDE_PICKLE_VALUE_HUGE) {
        return TIDE_PICKLE_HUGE;
    }
    return value == 0 ? TIDE_PICKLE_NOTHING : TIDE_PICKLE_BOOLEAN;
}

const char *tide_pickle_kind_name(tide_pickle_kind kind) {
    static const char *const NAMES[] = {"nothing",
                                        "None",
                                        "a boolean",
                                        "an integer",
                                        "an integer beyond 64 bits",
                                        "a real number",
                                        "a text",
                                        "bytes",
                                        "a list",
                                        "a tuple",
                                        "a dict",
                                        "a part that stands elsewhere, too",
                                        "a part that stands elsewhere, too"};
    return NAMES[kind];
}

bool tide_pickle_boolean(tide_pickle_value value) {
    return value == TIDE_PICKLE_VALUE_TRUE;
}

int64_t tide_pickle_integer(const tide_pickle *pickle, tide_pickle_value value) {
    if (TIDE_PICKLE_TAG(value) == TIDE_PICKLE_TAG_LARGE) {
        return (int64_t)pickle->numbers[value >> TIDE_PICKLE_TAG_BITS];
    }
    return (int64_t)(value - TIDE_PICKLE_TAG_SMALL) / (1 << TIDE_PICKLE_TAG_BITS);
}

double tide_pickle_real(const tide_pickle *pickle, tide_pickle_value value) {
    double real = 0.0;
    memcpy(&real, &pickle->numbers[value >> TIDE_PICKLE_TAG_BITS], sizeof(real));
    return real;
}

const char *tide_pickle_text(const tide_pickle *pickle, tide_pickle_value value,
                             size_t *ret_bytes) {
    const tide_pickle_text_row *row = &pickle->texts[value >> TIDE_PICKLE_TAG_BITS];
    *ret_bytes = row->n_bytes;
    return row->bytes;
}

const tide_pickle_container *tide_pickle_items(const tide_pickle *pickle, tide_pickle_value value) {
    return &pickle->containers[value >> TIDE_PICKLE_TAG_BITS];
}
