/* json_friend.h - functions that the files of the JSON reader share.
 */
#ifndef TIDE_SNAPSHOT_JSON_FRIEND_H
#define TIDE_SNAPSHOT_JSON_FRIEND_H

#include "snapshot/format/json_reader.h"

/* Copies the text of `size` bytes at offset text_at, between its quotes, into `arena`, with escapes
 * resolved. "" after a failure. */
const char *tide_json_copy_text(tide_json *json, size_t text_at, size_t size, tide_arena *arena);

/* The same into `out`, which has room for size + 1 bytes; false after a failure. */
bool tide_json_unescape(tide_json *json, size_t text_at, size_t size, char *out, size_t *ret_bytes);

/* Checks text that is not kept: fails, and returns false, if tide_json_copy_text would fail. */
bool tide_json_check_text(tide_json *json, size_t text_at, size_t size);

/* The bytes at an offset that is in the window. */
static inline const char *tide_json_bytes(const tide_json *json, size_t at) {
    return json->window.bytes + (at - json->window.begin);
}

/* Adds bytes to the end of the window; those from `from` on stay. False at the end. */
bool tide_json_more(tide_json *json, size_t from);

/* The number of bytes available from json->at on; reads more until there are n_bytes. */
static inline size_t tide_json_here(tide_json *json, size_t n_bytes) {
    while (json->window.end - json->at < n_bytes && tide_json_more(json, json->at)) {
    }
    return json->window.end - json->at;
}

/* The next byte after white space; '\0' at the end. */
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

/* Adds a level to a key path: "start.segments" and "start.segments[3]"; returns the bytes used.
 * Unprintable bytes of a key become '?', because a hostile file's keys reach a terminal. A level
 * that does not fit is left out. */
size_t tide_json_path_key(char path[TIDE_JSON_PLACE_BYTES], size_t n_used, const char *key,
                          size_t n_bytes);
size_t tide_json_path_index(char path[TIDE_JSON_PLACE_BYTES], size_t n_used, size_t index);

/* The key path of the current value; "" at the root. */
void tide_json_path(const tide_json *json, char path[TIDE_JSON_PLACE_BYTES]);

/* Takes an integer at the next byte; false if there is none or it exceeds int64_t. */
bool tide_json_take_integer(tide_json *json, int64_t *ret_value);

/* Fails at the next byte: "WHAT was expected, not 'x'". */
void tide_json_fail_expected(tide_json *json, const char *what);

/* Length of the number at the next byte by JSON's grammar; 0: none. A number that is too long fails
 * the parser, also with 0. */
size_t tide_json_number_size(tide_json *json);

/* Takes a text's quotes and the bytes between them, with escapes as written; they are in the window
 * until more bytes are read. Checks length, control characters and the first letter of escapes. */
bool tide_json_take_raw_text(tide_json *json, size_t *ret_at, size_t *ret_size);

/* Takes the next key and its colon; false at the object's end. The key stays in the window until
 * the caller sets json->keep to SIZE_MAX. */
bool tide_json_take_key(tide_json *json);

#endif
