/* Numbers of a JSON text: integers, columns of them, and reals. */
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/json_internal.h"

enum {
    MAX_SHOWN = 40 /* digits of a number in a message */
};

/* Takes an integer at the next byte: false when there is none or it is beyond int64_t. */
static bool take_integer(tide_json *json, int64_t *ret_value) {
    const char *at = json->text + json->at;
    const char *end = json->text + json->n_bytes;
    bool negative = at < end && *at == '-';
    at += negative;
    if (at == end || *at < '0' || *at > '9') {
        return false;
    }
    const char *first = at;
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t value = 0;
    while (at < end && *at >= '0' && *at <= '9') {
        uint64_t digit = (uint64_t)(*at++ - '0');
        if (value > (limit - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    if ((*first == '0' && at - first > 1) ||
        (at < end && (*at == '.' || *at == 'e' || *at == 'E'))) {
        return false;
    }
    json->at = (size_t)(at - json->text);
    *ret_value = negative ? (int64_t)(UINT64_C(0) - value) : (int64_t)value;
    return true;
}

static void fail_range(tide_json *json, size_t at, int64_t value, int64_t min, int64_t max) {
    tide_json_fail(json, TIDE_FORMAT, at,
                   "%" PRId64 " is out of range: %" PRId64 " to %" PRId64 " is allowed", value, min,
                   max);
}

int64_t tide_json_get_integer(tide_json *json, int64_t min, int64_t max) {
    int64_t value = 0;
    if (json->status != TIDE_OK) {
        return 0;
    }
    (void)tide_json_look(json);
    size_t at = json->at;
    if (!take_integer(json, &value)) {
        size_t n_bytes = tide_json_number_size(json);
        if (n_bytes == 0) {
            tide_json_fail_expected(json, "an integer within 2^63");
        } else {
            tide_json_fail(json, TIDE_FORMAT, at, "%.*s is not an integer within 2^63",
                           n_bytes < MAX_SHOWN ? (int)n_bytes : MAX_SHOWN, json->text + at);
        }
        return 0;
    }
    if (value < min || value > max) {
        fail_range(json, at, value, min, max);
        return 0;
    }
    return value;
}

void tide_json_get_column(tide_json *json, int64_t min, int64_t max, tide_json_column *column) {
    column->n_values = 0;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        if (column->n_values == TIDE_JSON_MAX_ROWS) {
            tide_json_fail(json, TIDE_LIMIT, json->at, "more than the limit of %d values",
                           TIDE_JSON_MAX_ROWS);
            return;
        }
        if (column->n_values == column->capacity) {
            int64_t *values = tide_hostmem_grow(column->mem, column->values, &column->capacity,
                                                column->n_values + 1, sizeof(*column->values));
            if (values == NULL) {
                tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for the column");
                return;
            }
            column->values = values;
        }
        column->values[column->n_values] = tide_json_get_integer(json, min, max);
        column->n_values++;
    }
}

size_t tide_json_number_size(const tide_json *json) {
    const char *begin = json->text + json->at;
    const char *end = json->text + json->n_bytes;
    const char *at = begin + (begin < end && *begin == '-');
    const char *digits = at;
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    if (at == digits || (*digits == '0' && at - digits > 1)) {
        return 0;
    }
    if (at < end && *at == '.') {
        digits = ++at;
        while (at < end && *at >= '0' && *at <= '9') {
            at++;
        }
        if (at == digits) {
            return 0;
        }
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        digits = at;
        while (at < end && *at >= '0' && *at <= '9') {
            at++;
        }
        if (at == digits) {
            return 0;
        }
    }
    return (size_t)(at - begin);
}

double tide_json_get_real(tide_json *json) {
    char number[TIDE_JSON_NUMBER_BYTES];
    if (json->status != TIDE_OK) {
        return 0.0;
    }
    (void)tide_json_look(json);
    size_t size = tide_json_number_size(json);
    if (size == 0 || size >= TIDE_JSON_NUMBER_BYTES) {
        tide_json_fail_expected(json, "a number");
        return 0.0;
    }
    memcpy(number, json->text + json->at, size);
    number[size] = '\0';
    char *point = strchr(number, '.');
    if (point != NULL) {
        *point = localeconv()->decimal_point[0];
    }
    double value = strtod(number, NULL);
    if (value - value != 0.0) {
        tide_json_fail(json, TIDE_LIMIT, json->at, "a number beyond the range of a double");
        return 0.0;
    }
    json->at += size;
    return value;
}
