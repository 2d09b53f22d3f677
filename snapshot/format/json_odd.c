/* Ornaments are values that are only shown. An odd one is counted and read as unknown, so that it
 * does not make a whole file unreadable. */
#include <stdio.h>
#include <string.h>

#include "snapshot/format/json_friend.h"

void tide_json_count_odd(tide_json *json) {
    if (json->status == TIDE_OK && json->n_odd++ == 0) {
        char path[TIDE_JSON_PLACE_BYTES];
        tide_json_path(json, path);
        snprintf(json->first_odd, sizeof(json->first_odd), "%s", path);
    }
}

static void skip_odd(tide_json *json) {
    tide_json_count_odd(json);
    tide_json_skip(json);
}

int64_t tide_json_get_odd_integer(tide_json *json, int64_t min, int64_t max, tide_json_odd odd) {
    int64_t value = 0;
    tide_json_kind kind = tide_json_peek(json);
    if (kind == TIDE_JSON_NOTHING) {
        return tide_json_get_integer(json, min, max); /* fails with the message */
    }
    if (kind != TIDE_JSON_NUMBER) {
        skip_odd(json);
        return odd.unknown;
    }
    size_t at = json->at;
    if (!tide_json_take_integer(json, &value)) {
        size_t size = tide_json_number_size(json);
        bool is_integer = true;
        for (size_t i = 0; i < size; i++) {
            char c = *tide_json_bytes(json, at + i);
            is_integer = is_integer && (c == '-' || (c >= '0' && c <= '9'));
        }
        if (!is_integer || !odd.range_is_fine) {
            tide_json_count_odd(json);
        }
        tide_json_skip(json);
        return odd.unknown;
    }
    if (value < min || value > max) {
        if (!odd.range_is_fine) {
            tide_json_count_odd(json);
        }
        return odd.unknown;
    }
    return value;
}

const char *tide_json_get_odd_text(tide_json *json, tide_arena *arena) {
    tide_json_kind kind = tide_json_peek(json);
    if (kind == TIDE_JSON_STRING || kind == TIDE_JSON_NOTHING) {
        return tide_json_get_text(json, arena);
    }
    skip_odd(json);
    return "";
}

bool tide_json_get_odd_boolean(tide_json *json) {
    tide_json_kind kind = tide_json_peek(json);
    if (kind == TIDE_JSON_BOOLEAN || kind == TIDE_JSON_NOTHING) {
        return tide_json_get_boolean(json);
    }
    skip_odd(json);
    return false;
}

double tide_json_get_odd_real(tide_json *json) {
    if (tide_json_peek(json) == TIDE_JSON_NULL) {
        skip_odd(json);
        return -1.0;
    }
    return tide_json_get_real(json);
}

bool tide_json_enter_odd_object(tide_json *json) {
    tide_json_kind kind = tide_json_peek(json);
    if (kind == TIDE_JSON_OBJECT || kind == TIDE_JSON_NOTHING) {
        tide_json_enter_object(json);
        return json->status == TIDE_OK;
    }
    skip_odd(json);
    return false;
}

/* Takes a whole number that exceeds int64_t but fits in 64 bits. */
static bool take_unsigned(tide_json *json, uint64_t *ret_value) {
    enum { DIGITS = 20 }; /* of 2^64 - 1 */
    uint64_t value = 0;
    size_t size = tide_json_number_size(json);
    for (size_t i = 0; i < size; i++) {
        uint64_t digit = (uint64_t)*tide_json_bytes(json, json->at + i) - '0';
        if (digit > 9 || size > DIGITS || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    json->at += size;
    *ret_value = value;
    return size > 0;
}

uint64_t tide_json_get_handle(tide_json *json) {
    int64_t value = 0;
    uint64_t large = 0;
    tide_json_kind kind = tide_json_peek(json);
    if (kind == TIDE_JSON_NOTHING) {
        return (uint64_t)tide_json_get_integer(json, INT64_MIN, INT64_MAX);
    }
    if (kind == TIDE_JSON_NUMBER && tide_json_take_integer(json, &value)) {
        return (uint64_t)value;
    }
    if (kind == TIDE_JSON_NUMBER && take_unsigned(json, &large)) {
        return large;
    }
    skip_odd(json);
    return UINT64_MAX;
}
