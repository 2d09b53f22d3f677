/* The events, column by column: from the text directly to the document's columns, without rows or a
 * whole column of wide numbers in between. */
#include <stdio.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/document/validate.h"
#include "snapshot/format/columns_internal.h"
#include "snapshot/format/reader_keys_internal.h"

enum {
    BATCH_VALUES = 512 /* parsed before they are stored: few enough for the first-level cache */
};

#define NO_ROW SIZE_MAX

/* A column that is being read. */
typedef struct event_column {
    const tide_column_rule *rule;
    void *values; /* in the arena, n_rows of `width` bytes; NULL before the first values */
    size_t width;
    size_t n_rows;    /* of the first column */
    size_t n_values;  /* so far; more than n_rows is refused at the end */
    int64_t last;     /* the sum of the differences so far */
    size_t first_bad; /* row of the first sum that is out of range; NO_ROW */
} event_column;

/* Replaces differences by their running sum. The range is checked here, because the differences
 * themselves have none. */
static void add_up(event_column *column, int64_t *values, size_t n_values) {
    int64_t last = column->last;
    int64_t min = column->rule->min;
    int64_t max = column->rule->max;
    for (size_t i = 0; i < n_values; i++) {
        int64_t delta = values[i];
        bool fits = delta < 0 ? last >= INT64_MIN - delta : last <= INT64_MAX - delta;
        last = fits ? last + delta : last;
        if (!fits || last < min || last > max) {
            column->first_bad = column->n_values + i;
            return;
        }
        values[i] = last;
    }
    column->last = last;
}

/* The width that all of the values need; a number has the width of its rule. */
static size_t width_of(const tide_column_rule *rule, const int64_t *values, size_t n_values) {
    uint64_t all_bits = 0;
    uint64_t none = rule->kind == TIDE_COLUMN_INDEX ? 1 : 0;
    if (rule->kind == TIDE_COLUMN_NUMBER) {
        return rule->width;
    }
    for (size_t i = 0; i < n_values; i++) {
        all_bits |= (uint64_t)values[i] + none;
    }
    return tide_narrow_width(all_bits);
}

/* Makes the column wide enough for the next values; its values move to a wider array. False: no
 * memory. */
static bool widen(tide_arena *arena, event_column *column, const int64_t *values, size_t n_values) {
    int64_t moved[BATCH_VALUES];
    size_t width = width_of(column->rule, values, n_values);
    if (column->values != NULL && width <= column->width) {
        return true;
    }
    char *old = column->values;
    char *wide = tide_arena_alloc_raw(arena, column->n_rows, width);
    for (size_t i = 0; wide != NULL && i < column->n_values; i += BATCH_VALUES) {
        size_t n_left = column->n_values - i;
        size_t n = n_left < BATCH_VALUES ? n_left : BATCH_VALUES;
        const tide_column_step from = {column->width, column->width};
        tide_column_load(column->rule->kind, from, old + i * column->width, n, moved);
        tide_column_store((tide_column_step){width, width}, wide + i * width, n, moved);
    }
    tide_arena_release(arena, old, column->n_rows * column->width);
    column->values = wide;
    column->width = width;
    return wide != NULL;
}

/* Stores the next values; may change them in place. */
static void take_values(tide_reader *reader, event_column *column, int64_t *values,
                        size_t n_values) {
    size_t n_left = column->n_rows > column->n_values ? column->n_rows - column->n_values : 0;
    size_t n_fitting = n_values < n_left ? n_values : n_left;
    if (column->rule->encoding != TIDE_COLUMN_PLAIN && column->first_bad == NO_ROW) {
        add_up(column, values, n_fitting);
    }
    if (column->first_bad != NO_ROW || (n_fitting == 0 && column->values != NULL)) {
        column->n_values +=
            n_values; /* counted only: the column will be refused, or there are none */
        return;
    }
    if (!widen(&reader->snapshot->arena, column, values, n_fitting)) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for %zu rows",
                       column->n_rows);
        return;
    }
    TIDE_ASSERT(column->n_values + n_fitting <= column->n_rows || n_fitting == 0);
    char *to = (char *)column->values + column->n_values * column->width;
    tide_column_store((tide_column_step){column->width, column->width}, to, n_fitting, values);
    column->n_values += n_values;
}

/* The first column decides the number of rows. Memory for them is allocated only after that many
 * values were read: a hostile file cannot claim rows that it does not have. */
static void read_first(tide_reader *reader, event_column *column, int64_t min, int64_t max) {
    tide_json_column *all = &reader->column;
    tide_json_get_column(&reader->json, min, max, column->rule->odd, all);
    if (tide_json_status(&reader->json) == TIDE_OK) {
        column->n_rows = all->n_values;
        take_values(reader, column, all->values, all->n_values);
    }
    /* It is the largest column of the document: free its memory before the others are read. */
    reader->mem->release(reader->mem->ctx, all->values);
    *all = (tide_json_column){.mem = reader->mem};
}

static void read_next(tide_reader *reader, event_column *column, int64_t min, int64_t max) {
    int64_t values[BATCH_VALUES];
    size_t n_values = 0;
    tide_json_enter_array(&reader->json);
    do {
        n_values = tide_json_get_integers(&reader->json, min, max, column->rule->odd, values,
                                          BATCH_VALUES);
        if (tide_json_status(&reader->json) != TIDE_OK) {
            return;
        }
        take_values(reader, column, values, n_values);
    } while (n_values == BATCH_VALUES);
}

/* Puts the column into the document if it is as long as the others and its sums are in range. The
 * message names the row, because the parser is already past the column. */
static void close_column(tide_reader *reader, const event_column *column, size_t at) {
    const tide_column_rule *rule = column->rule;
    if (tide_json_status(&reader->json) != TIDE_OK) {
        return;
    }
    if (column->n_values != column->n_rows) {
        tide_json_fail(&reader->json, TIDE_FORMAT, at,
                       "the column has %zu values, those before it have %zu", column->n_values,
                       column->n_rows);
        return;
    }
    if (column->first_bad != NO_ROW) {
        char place[TIDE_PLACE_BYTES];
        snprintf(place, sizeof(place), "events.%s[%zu]", rule->key, column->first_bad);
        tide_reader_fail_at(reader, place, "the value it leads to is out of range");
        return;
    }
    tide_column_set_of_events(rule, reader->snapshot, column->values, column->width);
}

void tide_read_document_events(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    tide_column_keys keys;
    int field = -1;
    bool is_first = true;
    tide_column_keys_of(&tide_event_columns, &keys);
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, keys.keys, keys.n, keys.required)) >= 0) {
        event_column column = {
            .rule = keys.rules[field], .n_rows = snapshot->n_events, .first_bad = NO_ROW};
        bool is_delta = column.rule->encoding != TIDE_COLUMN_PLAIN;
        int64_t min = is_delta ? INT64_MIN : column.rule->min;
        int64_t max = is_delta ? INT64_MAX : column.rule->max;
        size_t at = reader->json.at;
        if (is_first) {
            read_first(reader, &column, min, max);
            snapshot->n_events = column.n_rows;
        } else {
            read_next(reader, &column, min, max);
        }
        close_column(reader, &column, at);
        is_first = false;
    }
}

/* The columns belong to the document; only its reader may change them. */
static void *own_column(const void *column) {
    void *own;
    memcpy(&own, &column, sizeof(own));
    return own;
}

size_t tide_reader_translate_events(const tide_name_map *map, const uint8_t *column,
                                    size_t n_events) {
    uint8_t *numbers = own_column(column);
    uint8_t to[UINT8_MAX + 1];
    bool is_known = true;
    if (!map->given) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i <= UINT8_MAX; i++) {
        to[i] = i < map->n ? map->to[i] : TIDE_NO_NUMBER;
    }
    for (size_t i = 0; i < n_events; i++) {
        numbers[i] = to[numbers[i]];
        is_known = is_known && numbers[i] != TIDE_NO_NUMBER;
    }
    return is_known ? SIZE_MAX
                    : (size_t)((uint8_t *)memchr(numbers, TIDE_NO_NUMBER, n_events) - numbers);
}

size_t tide_reader_scale_events(const tide_snapshot *snapshot, uint64_t unit_bytes) {
    uint64_t *addresses = own_column(snapshot->events.address);
    uint64_t max = (uint64_t)INT64_MAX / unit_bytes;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (addresses[i] > max) {
            return i;
        }
        addresses[i] *= unit_bytes;
    }
    return SIZE_MAX;
}
