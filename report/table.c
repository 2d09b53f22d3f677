#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/text/bytes.h"
#include "common/text/nearest.h"
#include "common/text/sentences.h"
#include "report/harmless.h"
#include "report/table_internal.h"

static const char *const FORMATS[TIDE_N_FORMATS] = {"text", "markdown", "csv", "latex", "json"};

const char *tide_format_name(size_t i) {
    return i < TIDE_N_FORMATS ? FORMATS[i] : NULL;
}

int tide_format_from_name(const char *name) {
    for (int i = 0; i < TIDE_N_FORMATS; i++) {
        if (strcmp(FORMATS[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

bool tide_format_is_for_programs(tide_format format) {
    return format.kind == TIDE_FORMAT_CSV || format.kind == TIDE_FORMAT_JSON;
}

void tide_report_init(tide_report *report, const char *command) {
    *report = (tide_report){.command = command};
    tide_arena_init(&report->arena, tide_hostmem_default());
}

void tide_report_fini(tide_report *report) {
    tide_arena_fini(&report->arena);
}

static void *take(tide_report *report, size_t n_items, size_t item_bytes) {
    void *memory = tide_arena_alloc(&report->arena, n_items, item_bytes);
    if (memory == NULL) {
        report->no_memory = true;
    }
    return memory;
}

static const char *keep_text(tide_report *report, const char *text) {
    size_t n_room = strlen(text) + 1;
    char *copy = take(report, n_room, 1);
    if (copy != NULL) {
        tide_text_harmless(text, copy, n_room);
    }
    return copy != NULL ? copy : "";
}

static const char *keep_exact(tide_report *report, const char *text) {
    const char *copy = tide_arena_text(&report->arena, text);
    report->no_memory = report->no_memory || copy == NULL;
    return copy != NULL ? copy : "";
}

static tide_report_item *add_item(tide_report *report) {
    tide_report_item *item = take(report, 1, sizeof(*item));
    if (item == NULL) {
        return NULL;
    }
    if (report->last != NULL) {
        report->last->next = item;
    } else {
        report->first = item;
    }
    report->last = item;
    return item;
}

/* NULL without memory. */
static TIDE_PRINTF(2, 0) const
    char *keep_printed(tide_report *report, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    char *text = take(report, (size_t)(n < 0 ? 0 : n) + 1, 1);
    if (text != NULL) {
        vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, again);
    }
    va_end(again);
    return text;
}

const char *tide_report_text(tide_report *report, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = keep_printed(report, format, arguments);
    va_end(arguments);
    return text != NULL ? text : "";
}

const char *tide_report_bytes(tide_report *report, int64_t n_bytes) {
    char text[TIDE_BYTES_TEXT];
    return keep_exact(report, tide_bytes_format(n_bytes, text));
}

void tide_report_say(tide_report *report, const char *key, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = keep_printed(report, format, arguments);
    va_end(arguments);
    tide_report_item *item = add_item(report);
    if (text != NULL && item != NULL) {
        item->key = keep_text(report, key);
        item->text = keep_text(report, text);
    }
}

tide_table *tide_report_table(tide_report *report, const char *key, const char *title) {
    tide_table *table = take(report, 1, sizeof(*table));
    tide_report_item *item = table != NULL ? add_item(report) : NULL;
    if (item == NULL) {
        return NULL;
    }
    item->table = table;
    table->report = report;
    table->key = keep_text(report, key);
    table->title = keep_text(report, title);
    return table;
}

void tide_table_column(tide_table *table, const char *key, const char *title, bool is_number) {
    if (table != NULL && table->n_columns < TIDE_TABLE_MAX_COLUMNS) {
        table->columns[table->n_columns++] = (tide_column){
            keep_text(table->report, key), keep_text(table->report, title), is_number};
    }
}

void tide_table_columns(tide_table *table, const tide_column *columns, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tide_table_column(table, columns[i].key, columns[i].title, columns[i].is_number);
    }
}

void tide_table_fields(tide_table *table, const tide_field *fields, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tide_table_column(table, fields[i].key, fields[i].title, fields[i].kind > TIDE_FIELD_CHARS);
    }
}

void tide_table_row_begin(tide_table *table) {
    if (table == NULL) {
        return;
    }
    tide_table_row *row = take(table->report, 1, sizeof(*row));
    tide_cell *cells = take(table->report, table->n_columns, sizeof(*cells));
    if (row == NULL || cells == NULL) {
        return;
    }
    row->cells = cells;
    if (table->last != NULL) {
        table->last->next = row;
    } else {
        table->first = row;
    }
    table->last = row;
    table->n_rows++;
}

/* The same cell with texts of the report's own. */
static tide_cell keep_cell(tide_report *report, tide_cell cell) {
    if (cell.kind == TIDE_CELL_TEXT) {
        const char *given = cell.exact;
        cell.text = keep_text(report, given);
        cell.exact = keep_exact(report, given);
    }
    return cell;
}

void tide_table_cells(tide_table *table, const tide_cell *cells, size_t n) {
    for (size_t i = 0; table != NULL && i < n; i++) {
        if (table->last != NULL && table->last->n_cells < table->n_columns) {
            table->last->cells[table->last->n_cells++] = keep_cell(table->report, cells[i]);
        }
    }
}

void tide_table_cells_of(tide_table *table, const tide_field *fields, size_t n, const void *row) {
    for (size_t i = 0; i < n; i++) {
        TIDE_CELLS(table, tide_as_field(&fields[i], row));
    }
}

/* ---- figures ---- */

static void add_figure(tide_report *report, const char *key, tide_cell cell) {
    tide_report_figure *figure = take(report, 1, sizeof(*figure));
    if (figure == NULL) {
        return;
    }
    *figure = (tide_report_figure){.key = keep_exact(report, key), .cell = keep_cell(report, cell)};
    if (report->last_figure != NULL) {
        report->last_figure->next = figure;
    } else {
        report->figures = figure;
    }
    report->last_figure = figure;
}

void tide_report_figure_bytes(tide_report *report, const char *key, int64_t n_bytes) {
    add_figure(report, key, tide_as_bytes(n_bytes));
}

void tide_report_figure_count(tide_report *report, const char *key, int64_t count) {
    add_figure(report, key, count < 0 ? tide_as_none() : tide_as_count(count));
}

void tide_report_figure_ns(tide_report *report, const char *key, int64_t ns) {
    tide_report_figure_count(report, key, ns);
}

void tide_report_figure_ns_of_ms(tide_report *report, const char *key, double ms) {
    /* 2^62 ns are 146 years: anything longer, or NaN, is not a time. */
    bool is_known = ms >= 0.0 && ms < 0x1p62 * 1e-6;
    tide_report_figure_ns(report, key, is_known ? llround(ms * 1e6) : -1);
}

void tide_report_figure_real(tide_report *report, const char *key, double number) {
    add_figure(report, key, tide_as_real(number));
}

void tide_report_figure_text(tide_report *report, const char *key, const char *text) {
    add_figure(report, key, tide_as_words(text));
}

const tide_table *tide_report_find(const tide_report *report, const char *key) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && (key == NULL || strcmp(item->table->key, key) == 0)) {
            return item->table;
        }
    }
    return NULL;
}

bool tide_report_item_is_printed(const tide_report_item *item, const char *table) {
    return table == NULL || (item->table != NULL && strcmp(item->table->key, table) == 0);
}

const char *tide_report_table_key(const tide_report *report, size_t i) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && item->table == tide_report_find(report, item->table->key) &&
            i-- == 0) {
            return item->table->key;
        }
    }
    return NULL;
}

const char *tide_report_sentence(const tide_report *report, const char *key, size_t i) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->text != NULL && strcmp(item->key, key) == 0 && i-- == 0) {
            return item->text;
        }
    }
    return NULL;
}

size_t tide_report_count_sentences(const tide_report *report) {
    size_t n = 0;
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        n += item->text != NULL ? tide_count_sentences(item->text) : 0;
    }
    return n;
}

bool tide_report_drop(tide_report *report, const char *key, size_t n_kept) {
    tide_report_item *before = NULL;
    tide_report_item *before_last = NULL; /* the item before the one to take out */
    size_t n = 0;
    for (tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->text != NULL && (key == NULL || strcmp(item->key, key) == 0)) {
            before_last = before;
            n++;
        }
        before = item;
    }
    if (n <= n_kept) {
        return false;
    }
    tide_report_item **link = before_last != NULL ? &before_last->next : &report->first;
    if (report->last == *link) {
        report->last = before_last;
    }
    *link = (*link)->next;
    return true;
}

const char *tide_report_sentence_at(const tide_report *report, size_t i, const char **ret_key) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->text != NULL && i-- == 0) {
            *ret_key = item->key;
            return item->text;
        }
    }
    return NULL;
}

static const char *table_at(const void *ctx, size_t i) {
    return tide_report_table_key(ctx, i);
}

tide_status tide_report_print(const tide_report *report, tide_format format, FILE *out, FILE *notes,
                              tide_error *error) {
    if (report->no_memory) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for a report");
    }
    if (format.table != NULL && tide_report_find(report, format.table) == NULL) {
        const tide_words tables = {.word_at = table_at, .ctx = report};
        char text[TIDE_NEAREST_TEXT];
        return tide_fail(error, TIDE_INVALID, "--table: the report has no table %s",
                         tide_unknown_word(&tables, format.table, text));
    }
    switch (format.kind) {
    case TIDE_FORMAT_MARKDOWN:
        tide_report_print_markdown(report, format.table, out);
        return TIDE_OK;
    case TIDE_FORMAT_CSV:
        tide_report_print_csv(report, format.table, out, notes);
        return TIDE_OK;
    case TIDE_FORMAT_LATEX:
        tide_report_print_latex(report, format.table, out);
        return TIDE_OK;
    case TIDE_FORMAT_JSON:
        return tide_report_print_json(report, out);
    default:
        tide_report_print_text(report, &format, out);
        return TIDE_OK;
    }
}
