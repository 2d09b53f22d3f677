#include <stdio.h>
#include <string.h>

#include "snapshot/reader_internal.h"

enum { PLACE_BYTES = 128 };

#define MAX_INDEX ((int64_t)TIDE_NONE - 1)

/* One column: its key, what its values may be, and whether they are differences. */
typedef struct column_rule {
    const char *key;
    int64_t min, max; /* of the decoded values */
    bool is_delta;
    const tide_json_odd *odd; /* of an ornament; NULL: none of its values may be odd */
} column_rule;

/* One table: its rules, and where its rows go. */
typedef struct table {
    const char *key;          /* in the document */
    const column_rule *rules; /* borrowed */
    size_t n_rules;
    size_t row_bytes;
    void (*store)(void *rows, size_t n_rows, int column, const int64_t *values);
    void *rows; /* in the arena; NULL before the first column */
    size_t n_rows;
} table;

/* Replaces differences by what they add up to. */
static void add_up(tide_conclusion *reading, const table *of, const column_rule *rule) {
    int64_t *values = reading->column.values;
    int64_t last = 0;
    for (size_t i = 0; i < reading->column.n_values; i++) {
        int64_t delta = values[i];
        bool fits = delta < 0 ? last >= INT64_MIN - delta : last <= INT64_MAX - delta;
        int64_t value = fits ? last + delta : 0;
        if (!fits || value < rule->min || value > rule->max) {
            char place[PLACE_BYTES];
            snprintf(place, sizeof(place), "%s.%s[%zu]", of->key, rule->key, i);
            tide_conclusion_fail_at(reading, place, "the value it leads to is out of range");
            return;
        }
        values[i] = value;
        last = value;
    }
}

static void read_column(tide_conclusion *reading, table *of, int column) {
    const column_rule *rule = &of->rules[column];
    size_t at = reading->json.at;
    tide_json_get_column(&reading->json, rule->is_delta ? INT64_MIN : rule->min,
                         rule->is_delta ? INT64_MAX : rule->max, rule->odd, &reading->column);
    if (tide_json_status(&reading->json) != TIDE_OK) {
        return;
    }
    size_t n_values = reading->column.n_values;
    if (of->rows == NULL) {
        of->rows = tide_arena_alloc(&reading->snapshot->arena, n_values, of->row_bytes);
        of->n_rows = n_values;
    }
    if (of->rows == NULL) {
        tide_json_fail(&reading->json, TIDE_NO_MEMORY, at, "no memory for %zu rows", n_values);
        return;
    }
    if (n_values != of->n_rows) {
        tide_json_fail(&reading->json, TIDE_FORMAT, at,
                       "the column has %zu values, those before it have %zu", n_values, of->n_rows);
        return;
    }
    if (rule->is_delta) {
        add_up(reading, of, rule);
    }
    if (tide_json_status(&reading->json) == TIDE_OK) {
        of->store(of->rows, of->n_rows, column, reading->column.values);
    }
}

static void read_table(tide_conclusion *reading, table *of) {
    const char *keys[TIDE_JSON_MAX_FIELDS];
    for (size_t i = 0; i < of->n_rules; i++) {
        keys[i] = of->rules[i].key;
    }
    uint32_t required = (UINT32_C(1) << of->n_rules) - 1;
    tide_json_enter_object(&reading->json);
    int column = -1;
    while ((column = tide_json_next_field(&reading->json, keys, of->n_rules, required)) >= 0) {
        read_column(reading, of, column);
    }
}

#define STORE(row_type, member, type)                                                              \
    for (size_t i = 0; i < n_rows; i++) {                                                          \
        ((row_type *)rows)[i].member = (type)values[i];                                            \
    }                                                                                              \
    break

static const tide_json_odd ODD_LINE = {.unknown = 0, .range_is_fine = true};
static const tide_json_odd ODD_INLINED = {.unknown = 0};
static const tide_json_odd ODD_INDEX = {.unknown = -1};

static const column_rule FRAME_RULES[] = {{"function", -1, MAX_INDEX, false, NULL},
                                          {"file", -1, MAX_INDEX, false, NULL},
                                          {"line", 0, INT32_MAX, false, &ODD_LINE},
                                          {"inlined", 0, 1, false, &ODD_INLINED}};

static void store_frames(void *rows, size_t n_rows, int column, const int64_t *values) {
    switch (column) {
    case 0:
        STORE(tide_frame_row, function, uint32_t);
    case 1:
        STORE(tide_frame_row, file, uint32_t);
    case 2:
        STORE(tide_frame_row, line, int32_t);
    default:
        STORE(tide_frame_row, inlined, bool);
    }
}

void tide_read_frames(tide_conclusion *reading) {
    table of = {.key = "frames",
                .rules = FRAME_RULES,
                .n_rules = sizeof(FRAME_RULES) / sizeof(FRAME_RULES[0]),
                .row_bytes = sizeof(tide_frame_row),
                .store = store_frames};
    read_table(reading, &of);
    reading->snapshot->frames = of.rows;
    reading->snapshot->n_frames = of.n_rows;
}

static const column_rule STACK_RULES[] = {{"parent", -1, MAX_INDEX, false, NULL},
                                          {"frame", 0, MAX_INDEX, false, NULL}};

static void store_stacks(void *rows, size_t n_rows, int column, const int64_t *values) {
    switch (column) {
    case 0:
        STORE(tide_stack_row, parent, uint32_t);
    default:
        STORE(tide_stack_row, frame, uint32_t);
    }
}

void tide_read_stacks(tide_conclusion *reading) {
    table of = {.key = "stacks",
                .rules = STACK_RULES,
                .n_rules = sizeof(STACK_RULES) / sizeof(STACK_RULES[0]),
                .row_bytes = sizeof(tide_stack_row),
                .store = store_stacks};
    read_table(reading, &of);
    reading->snapshot->stacks = of.rows;
    reading->snapshot->n_stacks = of.n_rows;
}

static const column_rule SCOPE_RULES[] = {{"parent", -1, MAX_INDEX, false, NULL},
                                          {"kind", 0, UINT8_MAX - 1, false, NULL},
                                          {"name", 0, MAX_INDEX, false, NULL},
                                          {"index", -1, INT32_MAX, false, &ODD_INDEX},
                                          {"thread", 0, UINT16_MAX, false, NULL},
                                          {"begin_delta", 0, INT64_MAX, true, NULL},
                                          {"duration", -1, INT64_MAX, false, NULL},
                                          {"device_begin", -1, INT64_MAX, false, NULL},
                                          {"device_duration", -1, INT64_MAX, false, NULL}};

static void store_scopes(void *rows, size_t n_rows, int column, const int64_t *values) {
    switch (column) {
    case 0:
        STORE(tide_scope_row, parent, uint32_t);
    case 1:
        STORE(tide_scope_row, kind, uint8_t);
    case 2:
        STORE(tide_scope_row, name, uint32_t);
    case 3:
        STORE(tide_scope_row, index, int32_t);
    case 4:
        STORE(tide_scope_row, thread, uint16_t);
    case 5:
        STORE(tide_scope_row, begin_ns, int64_t);
    case 6:
        STORE(tide_scope_row, duration_ns, int64_t);
    case 7:
        STORE(tide_scope_row, device_begin_ns, int64_t);
    default:
        STORE(tide_scope_row, device_duration_ns, int64_t);
    }
}

void tide_read_scopes(tide_conclusion *reading) {
    table of = {.key = "scopes",
                .rules = SCOPE_RULES,
                .n_rules = sizeof(SCOPE_RULES) / sizeof(SCOPE_RULES[0]),
                .row_bytes = sizeof(tide_scope_row),
                .store = store_scopes};
    read_table(reading, &of);
    reading->scopes = of.rows;
    reading->snapshot->scopes = of.rows;
    reading->snapshot->n_scopes = of.n_rows;
}

static const column_rule KERNEL_RULES[] = {
    {"name", 0, MAX_INDEX, false, NULL},     {"phase", -1, MAX_INDEX, false, NULL},
    {"path", 0, MAX_INDEX, false, NULL},     {"launches", 1, INT64_MAX, false, NULL},
    {"total_ns", 0, INT64_MAX, false, NULL}, {"min_ns", 0, INT64_MAX, false, NULL},
    {"max_ns", 0, INT64_MAX, false, NULL}};

static void store_kernels(void *rows, size_t n_rows, int column, const int64_t *values) {
    switch (column) {
    case 0:
        STORE(tide_kernel_row, name, uint32_t);
    case 1:
        STORE(tide_kernel_row, phase, uint32_t);
    case 2:
        STORE(tide_kernel_row, path, uint32_t);
    case 3:
        STORE(tide_kernel_row, n_launches, uint64_t);
    case 4:
        STORE(tide_kernel_row, total_ns, int64_t);
    case 5:
        STORE(tide_kernel_row, min_ns, int64_t);
    default:
        STORE(tide_kernel_row, max_ns, int64_t);
    }
}

void tide_read_kernels(tide_conclusion *reading) {
    table of = {.key = "kernels",
                .rules = KERNEL_RULES,
                .n_rules = sizeof(KERNEL_RULES) / sizeof(KERNEL_RULES[0]),
                .row_bytes = sizeof(tide_kernel_row),
                .store = store_kernels};
    read_table(reading, &of);
    reading->snapshot->kernels = of.rows;
    reading->snapshot->n_kernels = of.n_rows;
}

static const column_rule EVENT_RULES[] = {{"time_delta", 0, INT64_MAX, true, NULL},
                                          {"action", 0, UINT8_MAX - 1, false, NULL},
                                          {"device", 0, UINT8_MAX, false, NULL},
                                          {"address_delta", 0, INT64_MAX, true, NULL},
                                          {"requested_bytes", 0, INT64_MAX, false, NULL},
                                          {"block_bytes", 0, INT64_MAX, false, NULL},
                                          {"stream", 0, UINT8_MAX, false, NULL},
                                          {"stack", -1, MAX_INDEX, false, NULL},
                                          {"scope_delta", -1, MAX_INDEX, true, NULL},
                                          {"category", 0, UINT8_MAX - 1, false, NULL},
                                          {"name", -1, MAX_INDEX, false, NULL}};

static void store_events(void *rows, size_t n_rows, int column, const int64_t *values) {
    switch (column) {
    case 0:
        STORE(tide_event, time_ns, int64_t);
    case 1:
        STORE(tide_event, action, uint8_t);
    case 2:
        STORE(tide_event, device, uint8_t);
    case 3:
        STORE(tide_event, address, uint64_t);
    case 4:
        STORE(tide_event, requested_bytes, uint64_t);
    case 5:
        STORE(tide_event, block_bytes, uint64_t);
    case 6:
        STORE(tide_event, stream, uint8_t);
    case 7:
        STORE(tide_event, stack, uint32_t);
    case 8:
        STORE(tide_event, scope, uint32_t);
    case 9:
        STORE(tide_event, category, uint8_t);
    default:
        STORE(tide_event, name, uint32_t);
    }
}

void tide_read_events(tide_conclusion *reading) {
    table of = {.key = "events",
                .rules = EVENT_RULES,
                .n_rules = sizeof(EVENT_RULES) / sizeof(EVENT_RULES[0]),
                .row_bytes = sizeof(tide_event),
                .store = store_events};
    read_table(reading, &of);
    reading->events = of.rows;
    reading->snapshot->events = of.rows;
    reading->snapshot->n_events = of.n_rows;
}
