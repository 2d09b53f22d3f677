/* json_friend.h - what the files of the JSON reader share.
 */
#ifndef TIDE_SNAPSHOT_JSON_FRIEND_H
#define TIDE_SNAPSHOT_JSON_FRIEND_H

#include "snapshot/format/json_reader.h"

/* The text of `size` bytes at offset text_at, between its quotes, without escapes: in `arena`. ""
 * after a failure. */
const char *tide_json_copy_text(tide_json *json, size_t text_at, size_t size, tide_arena *arena);

/* The same into `out`, which has room for size + 1 bytes; false after a failure. */
bool tide_json_unescape(tide_json *json, size_t text_at, size_t size, char *out, size_t *ret_bytes);

/* Fails, and is false, where tide_json_copy_text would: for text that is not kept. */
bool tide_json_check_text(tide_json *json, size_t text_at, size_t size);

/* What stands at an offset that is in the window. */
static inline const char *tide_json_bytes(const tide_json *json, size_t at) {
    return json->window.bytes + (at - json->window.begin);
}

/* More bytes behind the window, of which those from `from` on stay; false at the end. */
bool tide_json_more(tide_json *json, size_t from);

/* As many bytes from json->at on as there are, up to n_bytes. */
static inline size_t tide_json_here(tide_json *json, size_t n_bytes) {
    while (json->window.end - json->at < n_bytes && tide_json_more(json, json->at)) {
    }
    return json->window.end - json->at;
}

/* The next byte behind white space; '\0' at the end. */
static inline char tide_json_look(tide_json *json) {
    for (;;) {
        while (json->at < json->window.end) {
            char c = *tide_json_bytes(json, json->at);
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
                return c;
            }
            json->at++;
        }
        if (!tide_json_more(json, json->at)) {
            return '\0';
        }
    }
}

/* One more level at the end of a key path, "start.segments" and "start.segments[3]"; returns the
 * bytes used. A key is shown without bytes that are not printable, as a hostile file's keys end up
 * on a terminal, and a level that has no room is left out. */
size_t tide_json_path_key(char path[TIDE_JSON_PLACE_BYTES], size_t n_used, const char *key,
                          size_t n_bytes);
size_t tide_json_path_index(char path[TIDE_JSON_PLACE_BYTES], size_t n_used, size_t index);

/* The key path of the value at hand; "" at the root. */
void tide_json_path(const tide_json *json, char path[TIDE_JSON_PLACE_BYTES]);

/* Takes an integer at the next byte; false when there is none or it is beyond int64_t. */
bool tide_json_take_integer(tide_json *json, int64_t *ret_value);

/* Fails at the next byte: "WHAT was expected, not 'x'". */
void tide_json_fail_expected(tide_json *json, const char *what);

/* Length of the number at the next byte by JSON's grammar; 0: none. One that is too long is beyond
 * a limit: 0, too, and the parser has failed. */
size_t tide_json_number_size(tide_json *json);

/* Takes a text's quotes and what is between them, which stays as it is written, and in the window
 * until more bytes come. Checks length, control characters and escapes' first letters. */
bool tide_json_take_raw_text(tide_json *json, size_t *ret_at, size_t *ret_size);

/* Takes the next key and its colon; false at the object's end. The key stays in the window until
 * the caller sets json->keep to SIZE_MAX. */
bool tide_json_take_key(tide_json *json);

#endif
