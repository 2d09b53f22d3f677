#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/text/utf8.h"
#include "snapshot/format/json_friend.h"
#include "snapshot/pytorch/internal.h"

enum { PATH_BYTES = TIDE_JSON_PLACE_BYTES, MESSAGE_BYTES = 512 };

/* Writes "device_traces[0][3].addr", from the root on; returns the bytes used. */
static size_t write_path(const tide_pytorch_place *at, char *path, size_t n_used) {
    if (at == NULL) {
        return n_used;
    }
    n_used = write_path(at->up, path, n_used);
    return at->key == NULL ? tide_json_path_index(path, n_used, at->index)
                           : tide_json_path_key(path, n_used, at->key, strlen(at->key));
}

tide_status tide_pytorch_fail(const tide_pytorch_import *in, const tide_pytorch_place *at,
                              tide_status status, const char *format, ...) {
    char path[PATH_BYTES] = "";
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    size_t offset = at->offset;
    for (const tide_pytorch_place *place = at; offset == 0 && place != NULL; place = place->up) {
        offset = place->offset;
    }
    return write_path(at, path, 0) > 0
               ? tide_fail(in->error, status, "byte %zu, %s: %s", offset, path, message)
               : tide_fail(in->error, status, "byte %zu: %s", offset, message);
}

static tide_status wrong_kind(const tide_pytorch_import *in, tide_pickle_value value,
                              const tide_pytorch_place *at, const char *expected) {
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, value);
    if (kind == TIDE_PICKLE_NOTHING) {
        return tide_pytorch_fail(in, at, TIDE_FORMAT, "it is missing: %s was expected", expected);
    }
    return tide_pytorch_fail(in, at, TIDE_FORMAT, "%s was expected, not %s", expected,
                             tide_pickle_kind_name(kind));
}

tide_status tide_pytorch_list(const tide_pytorch_import *in, tide_pickle_value value,
                              tide_pytorch_place *at, const tide_pickle_container **ret_list) {
    tide_pickle_kind kind = tide_pickle_kind_of(in->pickle, value);
    if (kind != TIDE_PICKLE_LIST && kind != TIDE_PICKLE_TUPLE) {
        return wrong_kind(in, value, at, "a list");
    }
    *ret_list = tide_pickle_items(in->pickle, value);
    at->offset = (*ret_list)->offset;
    if ((*ret_list)->is_taken) {
        return tide_pytorch_fail(in, at, TIDE_FORMAT,
                                 "a list was expected, not a part that stands elsewhere, too");
    }
    return TIDE_OK;
}

tide_status tide_pytorch_dict(const tide_pytorch_import *in, tide_pickle_value value,
                              tide_pytorch_place *at, const tide_pytorch_key *keys, size_t n_keys,
                              tide_pickle_value *values) {
    if (tide_pickle_kind_of(in->pickle, value) != TIDE_PICKLE_DICT) {
        return wrong_kind(in, value, at, "a dict");
    }
    const tide_pickle_container *dict = tide_pickle_items(in->pickle, value);
    at->offset = dict->offset;
    memset(values, 0, n_keys * sizeof(*values));
    for (size_t i = 0; i + 1 < dict->n_items; i += 2) {
        if (tide_pickle_kind_of(in->pickle, dict->items[i]) != TIDE_PICKLE_TEXT) {
            continue;
        }
        size_t n_bytes = 0;
        const char *text = tide_pickle_text(in->pickle, dict->items[i], &n_bytes);
        for (size_t k = 0; k < n_keys; k++) {
            if (n_bytes == keys[k].n_bytes && memcmp(text, keys[k].text, n_bytes) == 0) {
                values[k] = dict->items[i + 1];
                break;
            }
        }
    }
    return TIDE_OK;
}

tide_status tide_pytorch_integer(const tide_pytorch_import *in, tide_pickle_value value,
                                 const tide_pytorch_place *at, int64_t min, int64_t max,
                                 int64_t *ret_integer) {
    if (tide_pickle_kind_of(in->pickle, value) != TIDE_PICKLE_INTEGER) {
        return wrong_kind(in, value, at, "an integer");
    }
    int64_t integer = tide_pickle_integer(in->pickle, value);
    if (integer < min || integer > max) {
        return tide_pytorch_fail(in, at, TIDE_FORMAT,
                                 "%" PRId64 " is not in the range of %" PRId64 " to %" PRId64,
                                 integer, min, max);
    }
    *ret_integer = integer;
    return TIDE_OK;
}

void tide_pytorch_odd(tide_pytorch_import *in, const tide_pytorch_place *at) {
    if (in->n_odd++ == 0) {
        (void)write_path(at, in->first_odd, 0);
    }
}

int64_t tide_pytorch_odd_integer(tide_pytorch_import *in, tide_pickle_value value,
                                 const tide_pytorch_place *at, int64_t min, int64_t max,
                                 int64_t unknown) {
    if (tide_pickle_kind_of(in->pickle, value) == TIDE_PICKLE_INTEGER) {
        int64_t integer = tide_pickle_integer(in->pickle, value);
        if (integer >= min && integer <= max) {
            return integer;
        }
    }
    tide_pytorch_odd(in, at);
    return unknown;
}

/* Copies the text to in->buffer, with U+FFFD for NUL and for all bytes that are not UTF-8; n_bytes
 * becomes its length. */
static const char *repair(tide_pytorch_import *in, const char *text, size_t *n_bytes) {
    static const char REPLACEMENT[] = "\xEF\xBF\xBD";
    enum { N_REPLACEMENT = sizeof(REPLACEMENT) - 1 };
    char *copy = tide_hostmem_grow(in->mem, in->buffer, &in->buffer_capacity,
                                   (*n_bytes + 1) * N_REPLACEMENT, 1);
    if (copy == NULL) {
        return NULL;
    }
    in->buffer = copy;
    size_t n_out = 0;
    for (size_t i = 0; i < *n_bytes;) {
        size_t n = tide_utf8_length((const unsigned char *)text + i, *n_bytes - i);
        if (n == 0 || text[i] == '\0') {
            memcpy(copy + n_out, REPLACEMENT, N_REPLACEMENT);
            n_out += N_REPLACEMENT;
            i++;
        } else {
            memcpy(copy + n_out, text + i, n);
            n_out += n;
            i += n;
        }
    }
    *n_bytes = n_out;
    return copy;
}

static bool is_clean(const char *text, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes;) {
        size_t n = tide_utf8_length((const unsigned char *)text + i, n_bytes - i);
        if (n == 0 || text[i] == '\0') {
            return false;
        }
        i += n;
    }
    return true;
}

tide_status tide_pytorch_string(tide_pytorch_import *in, tide_pickle_value value,
                                const tide_pytorch_place *at, uint32_t *ret_string) {
    if (tide_pickle_made_text(in->pickle, value, ret_string)) {
        return TIDE_OK;
    }
    if (tide_pickle_kind_of(in->pickle, value) != TIDE_PICKLE_TEXT) {
        return wrong_kind(in, value, at, "a text");
    }
    size_t n_bytes = 0;
    const char *text = tide_pickle_text(in->pickle, value, &n_bytes);
    tide_pickle_allow_text(in->pickle, value);
    if (!is_clean(text, n_bytes)) {
        text = repair(in, text, &n_bytes);
        if (text == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    TIDE_TRY(tide_strings_intern_n(&in->strings, text, n_bytes, ret_string));
    tide_pickle_make_text(in->pickle, value, *ret_string);
    return TIDE_OK;
}

bool tide_pytorch_is(const tide_pytorch_import *in, tide_pickle_value value, const char *text) {
    if (tide_pickle_kind_of(in->pickle, value) != TIDE_PICKLE_TEXT) {
        return false;
    }
    size_t n_bytes = 0;
    const char *found = tide_pickle_text(in->pickle, value, &n_bytes);
    return n_bytes == strlen(text) && memcmp(found, text, n_bytes) == 0;
}

tide_status tide_pytorch_count(tide_pytorch_import *in, size_t n_rows,
                               const tide_pytorch_place *at) {
    size_t max_rows = TIDE_PYTORCH_FREE_ROWS + in->pickle->n_read / TIDE_PYTORCH_ROW_BYTES;
    if (n_rows > max_rows || in->n_rows_read > max_rows - n_rows) {
        return tide_pytorch_fail(in, at, TIDE_LIMIT,
                                 "more than the limit of %zu events, segments and blocks for %zu "
                                 "bytes: parts of the file stand in many places",
                                 max_rows, in->pickle->n_read);
    }
    in->n_rows_read += n_rows;
    return TIDE_OK;
}
