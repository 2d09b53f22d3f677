/* The small tables: columns become rows by the rules of columns.c. */
#include <stdio.h>

#include "snapshot/format/columns_internal.h"
#include "snapshot/format/reader_keys_internal.h"

enum { PLACE_BYTES = 128 };

/* A table that is being read. */
typedef struct table {
    const tide_column_table *columns; /* borrowed */
    void *rows;                       /* in the arena; NULL before the first column */
    size_t n_rows;
} table;

/* Replaces differences by their running sum. The range is checked here, because the differences
 * themselves have none; the message names the row, because the parser is already past the column.
 */
static void add_up(tide_reader *reader, const table *of, const tide_column_rule *rule) {
    int64_t *values = reader->column.values;
    int64_t last = 0;
    for (size_t i = 0; i < reader->column.n_values; i++) {
        int64_t delta = values[i];
        bool fits = delta < 0 ? last >= INT64_MIN - delta : last <= INT64_MAX - delta;
        int64_t value = fits ? last + delta : 0;
        if (!fits || value < rule->min || value > rule->max) {
            char place[PLACE_BYTES];
            snprintf(place, sizeof(place), "%s.%s[%zu]", of->columns->key, rule->key, i);
            tide_reader_fail_at(reader, place, "the value it leads to is out of range");
            return;
        }
        values[i] = value;
        last = value;
    }
}

/* The first column decides the number of rows. Memory for them is allocated only after that many
 * values were read: a hostile file cannot claim rows that it does not have. */
static void read_column(tide_reader *reader, table *of, const tide_column_rule *rule) {
    bool is_delta = rule->encoding != TIDE_COLUMN_PLAIN;
    size_t at = reader->json.at;
    tide_json_get_column(&reader->json, is_delta ? INT64_MIN : rule->min,
                         is_delta ? INT64_MAX : rule->max, rule->odd, &reader->column);
    if (tide_json_status(&reader->json) != TIDE_OK) {
        return;
    }
    tide_arena *arena = &reader->snapshot->arena;
    size_t n_values = reader->column.n_values;
    size_t row_bytes = of->columns->row_bytes;
    if (of->rows == NULL) {
        of->rows = tide_arena_alloc_raw(arena, n_values, row_bytes);
        of->n_rows = n_values;
    }
    if (of->rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, at, "no memory for %zu rows", n_values);
        return;
    }
    if (n_values != of->n_rows) {
        tide_json_fail(&reader->json, TIDE_FORMAT, at,
                       "the column has %zu values, those before it have %zu", n_values, of->n_rows);
        return;
    }
    if (is_delta) {
        add_up(reader, of, rule);
    }
    if (tide_json_status(&reader->json) == TIDE_OK) {
        tide_column_store((tide_column_step){rule->width, row_bytes},
                          (char *)of->rows + rule->offset, of->n_rows, reader->column.values);
    }
}

static void *read_table(tide_reader *reader, const tide_column_table *columns, size_t *ret_n_rows) {
    table of = {.columns = columns};
    tide_column_keys keys;
    int field = -1;
    tide_column_keys_of(columns, &keys);
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, keys.keys, keys.n, keys.required)) >= 0) {
        read_column(reader, &of, keys.rules[field]);
    }
    *ret_n_rows = of.n_rows;
    return of.rows;
}

void tide_read_document_frames(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    snapshot->frames = read_table(reader, &tide_frame_columns, &snapshot->n_frames);
}

void tide_read_document_stacks(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    snapshot->stacks = read_table(reader, &tide_stack_columns, &snapshot->n_stacks);
}

void tide_read_document_scopes(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    reader->scopes = read_table(reader, &tide_scope_columns, &snapshot->n_scopes);
    snapshot->scopes = reader->scopes;
}

void tide_read_document_kernels(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    snapshot->kernels = read_table(reader, &tide_kernel_columns, &snapshot->n_kernels);
}
