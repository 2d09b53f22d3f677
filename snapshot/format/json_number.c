/* Numbers of a JSON text: integers, columns of them, and reals. */
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/format/json_friend.h"

enum {
    NUMBER_BYTES = TIDE_JSON_NUMBER_BYTES,
    MAX_SHOWN = 40 /* digits of a number in a message */
};

bool tide_json_take_integer(tide_json *json, int64_t *ret_value) {
    size_t n_here = tide_json_here(json, NUMBER_BYTES);
    const char *begin = tide_json_bytes(json, json->at);
    const char *at = begin;
    const char *end = begin + n_here;
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
    json->at += (size_t)(at - begin);
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
    if (!tide_json_take_integer(json, &value)) {
        size_t n_bytes = tide_json_number_size(json);
        if (n_bytes == 0) {
            tide_json_fail_expected(json, "an integer within 2^63");
        } else {
            tide_json_fail(json, TIDE_FORMAT, at, "%.*s is not an integer within 2^63",
                           n_bytes < MAX_SHOWN ? (int)n_bytes : MAX_SHOWN,
                           tide_json_bytes(json, at));
        }
        return 0;
    }
    if (value < min || value > max) {
        fail_range(json, at, value, min, max);
        return 0;
    }
    return value;
}

static bool grow(tide_json *json, tide_json_column *column) {
    int64_t *values = tide_hostmem_grow(column->mem, column->values, &column->capacity,
                                        column->n_values + 1, sizeof(*column->values));
    if (values == NULL) {
        tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for the column");
        return false;
    }
    column->values = values;
    return true;
}

/* Takes items of the current array that are in the writer's form, ",17" or ",-17", at most n_room.
 * Stops before any other: white space, a value out of range, the array's end, and an item that is
 * not wholly in the window. The item before them must have been taken. */
static size_t take_plain(tide_json *json, int64_t min, int64_t max, int64_t *values,
                         size_t n_room) {
    enum { PLAIN_DIGITS = 18, PLAIN_BYTES = PLAIN_DIGITS + 3 /* comma, sign, the byte after */ };
    TIDE_ASSERT(json->n_levels > 0 && json->levels[json->n_levels - 1].is_array);
    tide_json_level *level = &json->levels[json->n_levels - 1];
    const char *begin = tide_json_bytes(json, json->at);
    const char *end = tide_json_bytes(json, json->window.end);
    const char *at = begin;
    size_t n = 0;
    while (n < n_room && end - at >= PLAIN_BYTES && *at == ',') {
        bool is_negative = at[1] == '-';
        const char *first = at + 1 + is_negative;
        const char *past = first + PLAIN_DIGITS;
        const char *next = first;
        uint64_t magnitude = 0;
        for (; next < past && (unsigned char)(*next - '0') <= 9; next++) {
            magnitude = magnitude * 10 + (uint64_t)(*next - '0');
        }
        int64_t value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
        if ((*next != ',' && *next != ']') || next == first ||
            (*first == '0' && next - first > 1) || value < min || value > max) {
            break;
        }
        values[n++] = value;
        at = next;
    }
    json->at += (size_t)(at - begin);
    level->n_items += n;
    return n;
}

size_t tide_json_get_integers(tide_json *json, int64_t min, int64_t max, const tide_json_odd *odd,
                              int64_t *values, size_t n_room) {
    size_t n = 0;
    while (n < n_room) {
        if (!tide_json_next_item(json)) {
            return n;
        }
        size_t n_items = json->levels[json->n_levels - 1].n_items;
        if (n_items > TIDE_JSON_MAX_ROWS) {
            tide_json_fail(json, TIDE_LIMIT, json->at, "more than the limit of %d values",
                           TIDE_JSON_MAX_ROWS);
            return n;
        }
        values[n++] = odd == NULL ? tide_json_get_integer(json, min, max)
                                  : tide_json_get_odd_integer(json, min, max, *odd);
        if (json->status != TIDE_OK) {
            return n;
        }
        size_t n_left = TIDE_JSON_MAX_ROWS - n_items;
        n += take_plain(json, min, max, values + n, n_left < n_room - n ? n_left : n_room - n);
    }
    return n;
}

void tide_json_get_column(tide_json *json, int64_t min, int64_t max, const tide_json_odd *odd,
                          tide_json_column *column) {
    size_t n_room = 0;
    size_t n = 0;
    column->n_values = 0;
    tide_json_enter_array(json);
    do {
        if (column->n_values == column->capacity && !grow(json, column)) {
            return;
        }
        n_room = column->capacity - column->n_values;
        n = tide_json_get_integers(json, min, max, odd, column->values + column->n_values, n_room);
        column->n_values += n;
        TIDE_ASSERT(column->n_values <= column->capacity);
    } while (n == n_room);
}

/* Returns the end of the digits at `at`. */
static const char *skip_digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* Length by JSON's grammar of the number at `begin`; 0: none. */
static size_t size_by_grammar(const char *begin, const char *end) {
    const char *digits = begin + (begin < end && *begin == '-');
    const char *at = skip_digits(digits, end);
    if (at == digits || (*digits == '0' && at - digits > 1)) {
        return 0;
    }
    if (at < end && *at == '.') {
        digits = at + 1;
        at = skip_digits(digits, end);
        if (at == digits) {
            return 0;
        }
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        digits = at + (at < end && (*at == '+' || *at == '-'));
        at = skip_digits(digits, end);
        if (at == digits) {
            return 0;
        }
    }
    return (size_t)(at - begin);
}

size_t tide_json_number_size(tide_json *json) {
    size_t n_here = tide_json_here(json, NUMBER_BYTES);
    const char *begin = tide_json_bytes(json, json->at);
    size_t size = size_by_grammar(begin, begin + (n_here < NUMBER_BYTES ? n_here : NUMBER_BYTES));
    if (size == NUMBER_BYTES) {
        tide_json_fail(json, TIDE_LIMIT, json->at, "a number longer than the limit of %d digits",
                       NUMBER_BYTES - 1);
        return 0;
    }
    return size;
}

double tide_json_get_real(tide_json *json) {
    char number[NUMBER_BYTES];
    if (json->status != TIDE_OK) {
        return 0.0;
    }
    (void)tide_json_look(json);
    size_t size = tide_json_number_size(json);
    if (size == 0) {
        tide_json_fail_expected(json, "a number");
        return 0.0;
    }
    memcpy(number, tide_json_bytes(json, json->at), size);
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
