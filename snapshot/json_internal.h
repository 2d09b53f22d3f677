/* json_internal.h - what the files of the JSON reader share.
 */
#ifndef TIDE_SNAPSHOT_JSON_INTERNAL_H
#define TIDE_SNAPSHOT_JSON_INTERNAL_H

#include "snapshot/json_reader.h"

enum { TIDE_JSON_NUMBER_BYTES = 512 }; /* of a real, or of a number that is skipped: less */

/* The text of `size` bytes at offset text_at, between its quotes, without escapes: in `arena`. ""
 * after a failure. */
const char *tide_json_copy_text(tide_json *json, size_t text_at, size_t size, tide_arena *arena);

/* Fails, and is false, where tide_json_copy_text would: for text that nobody keeps. */
bool tide_json_check_text(tide_json *json, size_t text_at, size_t size);

/* The next byte behind white space; '\0' at the end. */
static inline char tide_json_look(tide_json *json) {
    while (json->at < json->n_bytes) {
        char c = json->text[json->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
            return c;
        }
        json->at++;
    }
    return '\0';
}

/* Fails at the next byte: "WHAT was expected, not 'x'". */
void tide_json_fail_expected(tide_json *json, const char *what);

/* Length of the number at the next byte by JSON's grammar; 0: none. */
size_t tide_json_number_size(const tide_json *json);

#endif
