#include "snapshot/format/json_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/format/json_friend.h"

enum { PATH_BYTES = TIDE_JSON_PLACE_BYTES };

void tide_json_init(tide_json *json, const char *text, size_t n_bytes, tide_error *error) {
    memset(json, 0, sizeof(*json));
    tide_window_init(&json->window, text, n_bytes);
    json->keep = SIZE_MAX;
    json->text_limit = TIDE_JSON_TEXT_BYTES;
    json->error = error;
}

void tide_json_open(tide_json *json, const tide_source *source, const tide_hostmem *mem,
                    tide_error *error) {
    tide_json_init(json, NULL, 0, error);
    tide_window_open(&json->window, source, mem);
}

void tide_json_close(tide_json *json) {
    tide_window_close(&json->window);
}

/* Adds no message: a source that fails has written its own. */
bool tide_json_more(tide_json *json, size_t from) {
    if (tide_window_more(&json->window, from < json->keep ? from : json->keep, json->error)) {
        return true;
    }
    if (json->status == TIDE_OK) {
        json->status = json->window.status;
    }
    return false;
}

tide_status tide_json_status(const tide_json *json) {
    return json->status;
}

/* A path with less room than this gets no more levels. */
enum { LEVEL_BYTES = 32 };

size_t tide_json_path_key(char path[TIDE_JSON_PLACE_BYTES], size_t n_used, const char *key,
                          size_t n_bytes) {
    if (n_used + LEVEL_BYTES >= PATH_BYTES) {
        return n_used;
    }
    if (n_used > 0) {
        path[n_used++] = '.';
    }
    for (size_t i = 0; i < n_bytes && i < TIDE_JSON_KEY_SHOWN && n_used + 1 < PATH_BYTES; i++) {
        path[n_used++] = key[i] >= ' ' && key[i] <= '~' ? key[i] : '?';
    }
    path[n_used] = '\0';
    return n_used;
}

size_t tide_json_path_index(char path[TIDE_JSON_PLACE_BYTES], size_t n_used, size_t index) {
    if (n_used + LEVEL_BYTES >= PATH_BYTES) {
        return n_used;
    }
    return n_used + (size_t)snprintf(path + n_used, PATH_BYTES - n_used, "[%zu]", index);
}

void tide_json_path(const tide_json *json, char path[TIDE_JSON_PLACE_BYTES]) {
    size_t n = 0;
    path[0] = '\0';
    for (size_t i = 0; i < json->n_levels; i++) {
        const tide_json_level *level = &json->levels[i];
        if (level->is_array && level->n_items > 0) {
            n = tide_json_path_index(path, n, level->n_items - 1);
        } else if (!level->is_array && level->key_size > 0) {
            n = tide_json_path_key(path, n, level->key, level->key_size);
        }
    }
}

void tide_json_fail(tide_json *json, tide_status status, size_t at, const char *format, ...) {
    if (json->status != TIDE_OK) {
        return;
    }
    char path[PATH_BYTES];
    tide_json_path(json, path);
    va_list arguments;
    va_start(arguments, format);
    json->status = tide_fail_list(json->error, status, format, arguments);
    va_end(arguments);
    tide_error_prefix(json->error, path[0] != '\0' ? "byte %zu, %s" : "byte %zu", at, path);
}

static bool failed(const tide_json *json) {
    return json->status != TIDE_OK;
}

/* The name of an unexpected byte in a message. */
static const char *found(const tide_json *json, char buffer[32]) {
    if (json->at >= json->window.end) {
        return "the end of the file";
    }
    unsigned char c = (unsigned char)*tide_json_bytes(json, json->at);
    snprintf(buffer, 32, c >= ' ' && c <= '~' ? "'%c'" : "byte 0x%02x", c);
    return buffer;
}

void tide_json_fail_expected(tide_json *json, const char *what) {
    char buffer[32];
    (void)tide_json_look(json);
    const char *there = found(json, buffer);
    tide_json_fail(json, TIDE_FORMAT, json->at, "%s was expected, not %s", what, there);
}

tide_json_kind tide_json_peek(tide_json *json) {
    if (failed(json)) {
        return TIDE_JSON_NOTHING;
    }
    char c = tide_json_look(json);
    switch (c) {
    case '{':
        return TIDE_JSON_OBJECT;
    case '[':
        return TIDE_JSON_ARRAY;
    case '"':
        return TIDE_JSON_STRING;
    case 't':
    case 'f':
        return TIDE_JSON_BOOLEAN;
    case 'n':
        return TIDE_JSON_NULL;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? TIDE_JSON_NUMBER : TIDE_JSON_NOTHING;
    }
}

static void enter(tide_json *json, bool is_array) {
    if (failed(json)) {
        return;
    }
    if (tide_json_look(json) != (is_array ? '[' : '{')) {
        tide_json_fail_expected(json, is_array ? "an array" : "an object");
        return;
    }
    if (json->n_levels == TIDE_JSON_DEPTH) {
        tide_json_fail(json, TIDE_LIMIT, json->at, "nested deeper than the limit of %d",
                       TIDE_JSON_DEPTH);
        return;
    }
    json->at++;
    json->levels[json->n_levels++] = (tide_json_level){.is_array = is_array};
}

void tide_json_enter_array(tide_json *json) {
    enter(json, true);
}

void tide_json_enter_object(tide_json *json) {
    enter(json, false);
}

/* Takes the comma between items or the closing bracket: true if another item follows. */
static bool more(tide_json *json, char closing) {
    if (failed(json) || json->n_levels == 0) {
        return false;
    }
    tide_json_level *level = &json->levels[json->n_levels - 1];
    char c = tide_json_look(json);
    if (c == closing) {
        json->at++;
        json->n_levels--;
        return false;
    }
    if (level->has_items) {
        if (c != ',') {
            tide_json_fail_expected(json, closing == ']' ? "',' or ']'" : "',' or '}'");
            return false;
        }
        json->at++;
        if (tide_json_look(json) == closing) {
            tide_json_fail_expected(json, "another item after ','");
            return false;
        }
    }
    level->has_items = true;
    return true;
}

bool tide_json_next_item(tide_json *json) {
    if (!more(json, ']')) {
        return false;
    }
    json->levels[json->n_levels - 1].n_items++;
    return true;
}

/* Moves to the quote at the end of the text. */
static bool find_end(tide_json *json, size_t begin) {
    for (;;) {
        if (json->at >= json->window.end && !tide_json_more(json, begin)) {
            tide_json_fail(json, TIDE_FORMAT, begin - 1, "a text without its end");
            return false;
        }
        while (json->at < json->window.end) {
            unsigned char c = (unsigned char)*tide_json_bytes(json, json->at);
            if (c == '"') {
                return true;
            }
            if (c < ' ') {
                tide_json_fail(json, TIDE_FORMAT, json->at,
                               "a text holds the control character 0x%02x", c);
                return false;
            }
            json->at += c == '\\' ? 2 : 1;
            if (json->at - begin > json->text_limit) {
                tide_json_fail(json, TIDE_LIMIT, begin, "a text longer than the limit of %zu bytes",
                               json->text_limit);
                return false;
            }
        }
    }
}

bool tide_json_take_raw_text(tide_json *json, size_t *ret_at, size_t *ret_size) {
    if (failed(json)) {
        return false;
    }
    if (tide_json_look(json) != '"') {
        tide_json_fail_expected(json, "a text");
        return false;
    }
    size_t begin = ++json->at;
    if (!find_end(json, begin)) {
        return false;
    }
    *ret_at = begin;
    *ret_size = json->at - begin;
    json->at++;
    return true;
}

bool tide_json_take_key(tide_json *json) {
    size_t key_at = 0;
    size_t key_size = 0;
    if (!more(json, '}')) {
        return false;
    }
    if (tide_json_look(json) != '"') {
        tide_json_fail_expected(json, "a key");
        return false;
    }
    if (!tide_json_take_raw_text(json, &key_at, &key_size)) {
        return false;
    }
    tide_json_level *level = &json->levels[json->n_levels - 1];
    level->key_at = key_at;
    level->key_size = key_size;
    memcpy(level->key, tide_json_bytes(json, key_at),
           key_size < TIDE_JSON_KEY_SHOWN ? key_size : TIDE_JSON_KEY_SHOWN);
    if (!tide_json_check_text(json, key_at, key_size)) {
        return false;
    }
    json->keep = key_at;
    if (tide_json_look(json) != ':') {
        tide_json_fail_expected(json, "':'");
        return false;
    }
    json->at++;
    return true;
}

static int field_of(const tide_json *json, const tide_json_level *level, const char *const *fields,
                    size_t n_fields) {
    for (size_t i = 0; i < n_fields; i++) {
        if (strlen(fields[i]) == level->key_size &&
            memcmp(fields[i], tide_json_bytes(json, level->key_at), level->key_size) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int tide_json_next_field(tide_json *json, const char *const *fields, size_t n_fields,
                         uint64_t required) {
    if (failed(json)) {
        return -1;
    }
    TIDE_ASSERT(json->n_levels > 0 && n_fields <= TIDE_JSON_MAX_FIELDS);
    tide_json_level *level = &json->levels[json->n_levels - 1];
    while (tide_json_take_key(json)) {
        int field = field_of(json, level, fields, n_fields);
        json->keep = SIZE_MAX;
        if (field < 0) {
            tide_json_skip(json);
            continue;
        }
        uint64_t bit = UINT64_C(1) << field;
        if ((level->seen & bit) != 0) {
            tide_json_fail(json, TIDE_FORMAT, level->key_at - 1, "this key comes twice");
            return -1;
        }
        level->seen |= bit;
        return field;
    }
    for (size_t i = 0; i < n_fields && !failed(json); i++) {
        if ((required & ~level->seen & (UINT64_C(1) << i)) != 0) {
            tide_json_fail(json, TIDE_FORMAT, json->at - 1, "the key '%s' is missing", fields[i]);
        }
    }
    return -1;
}

const char *tide_json_get_text(tide_json *json, tide_arena *arena) {
    size_t at = 0;
    size_t size = 0;
    return tide_json_take_raw_text(json, &at, &size) ? tide_json_copy_text(json, at, size, arena)
                                                     : "";
}

const char *tide_json_get_short_text(tide_json *json, char *buffer, size_t n_room) {
    size_t at = 0;
    size_t size = 0;
    size_t n_bytes = 0;
    buffer[0] = '\0';
    if (!tide_json_take_raw_text(json, &at, &size)) {
        return buffer;
    }
    if (size >= n_room) {
        (void)tide_json_check_text(json, at, size);
    } else if (!tide_json_unescape(json, at, size, buffer, &n_bytes)) {
        buffer[0] = '\0';
    }
    return buffer;
}

const char *tide_json_next_key(tide_json *json, tide_arena *arena) {
    if (failed(json) || !tide_json_take_key(json)) {
        return NULL;
    }
    const tide_json_level *level = &json->levels[json->n_levels - 1];
    const char *key = tide_json_copy_text(json, level->key_at, level->key_size, arena);
    json->keep = SIZE_MAX;
    return failed(json) ? NULL : key;
}

/* Takes true, false or null. */
static bool take_word(tide_json *json, const char *word) {
    size_t size = strlen(word);
    if (tide_json_here(json, size) < size ||
        memcmp(tide_json_bytes(json, json->at), word, size) != 0) {
        return false;
    }
    json->at += size;
    return true;
}

bool tide_json_get_boolean(tide_json *json) {
    if (failed(json)) {
        return false;
    }
    (void)tide_json_look(json);
    if (take_word(json, "true")) {
        return true;
    }
    if (!take_word(json, "false")) {
        tide_json_fail_expected(json, "true or false");
    }
    return false;
}

static void skip_scalar(tide_json *json) {
    size_t at = 0;
    size_t size = 0;
    switch (tide_json_peek(json)) {
    case TIDE_JSON_STRING:
        if (tide_json_take_raw_text(json, &at, &size)) {
            (void)tide_json_check_text(json, at, size);
        }
        break;
    case TIDE_JSON_NUMBER:
        size = tide_json_number_size(json);
        if (size == 0 || size >= TIDE_JSON_NUMBER_BYTES) {
            tide_json_fail_expected(json, "a number");
        }
        json->at += size;
        break;
    case TIDE_JSON_BOOLEAN:
        (void)tide_json_get_boolean(json);
        break;
    case TIDE_JSON_NULL:
        if (!take_word(json, "null")) {
            tide_json_fail_expected(json, "null");
        }
        break;
    default:
        tide_json_fail_expected(json, "a value");
    }
}

/* Uses the parser's own levels, not recursion: the depth of a hostile document must not decide how
 * much stack is used. */
void tide_json_skip(tide_json *json) {
    size_t outer = json->n_levels;
    do {
        bool inside = json->n_levels > outer;
        if (inside) {
            bool is_array = json->levels[json->n_levels - 1].is_array;
            if (!(is_array ? tide_json_next_item(json) : tide_json_take_key(json))) {
                continue;
            }
            json->keep = SIZE_MAX;
        }
        tide_json_kind kind = tide_json_peek(json);
        if (kind == TIDE_JSON_ARRAY) {
            tide_json_enter_array(json);
        } else if (kind == TIDE_JSON_OBJECT) {
            tide_json_enter_object(json);
        } else {
            skip_scalar(json);
        }
    } while (!failed(json) && json->n_levels > outer);
}

void tide_json_expect_end(tide_json *json) {
    if (!failed(json) && (tide_json_look(json) != '\0' || json->at < json->window.end)) {
        tide_json_fail_expected(json, "nothing after the document's end");
    }
}
