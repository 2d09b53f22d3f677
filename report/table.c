#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/harmless.h"
#include "common/nearest.h"
#include "report/table_internal.h"
#include "common/bytes.h"

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

void tide_report_say(tide_report *report, const char *key, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = take(report, (size_t)(n < 0 ? 0 : n) + 1, 1);
    tide_report_item *item = add_item(report);
    if (text != NULL && item != NULL) {
        vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, again);
        item->key = keep_text(report, key);
        item->text = keep_text(report, text);
    }
    va_end(again);
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

static void add_cell(tide_table *table, tide_cell cell) {
    if (table != NULL && table->last != NULL && table->last->n_cells < table->n_columns) {
        table->last->cells[table->last->n_cells++] = cell;
    }
}

static tide_cell text_cell(tide_report *report, const char *text) {
    return (tide_cell){
        .kind = TIDE_CELL_TEXT, .text = keep_text(report, text), .exact = keep_exact(report, text)};
}

static tide_cell integer_cell(tide_cell_kind kind, int64_t integer) {
    return (tide_cell){.kind = kind, .integer = integer};
}

static tide_cell real_cell(tide_cell_kind kind, double real) {
    return (tide_cell){.kind = kind, .real = real};
}

/* A quantity that is measured or counted: below 0 it is not known. */
static tide_cell known_real(tide_cell_kind kind, double real) {
    return real_cell(real < 0.0 ? TIDE_CELL_NONE : kind, real);
}

static tide_cell known_integer(tide_cell_kind kind, int64_t integer) {
    return integer_cell(integer < 0 ? TIDE_CELL_NONE : kind, integer);
}

void tide_cell_text(tide_table *table, const char *text) {
    if (table != NULL) {
        add_cell(table, text_cell(table->report, text));
    }
}

void tide_cell_bytes(tide_table *table, int64_t n_bytes) {
    add_cell(table, known_integer(TIDE_CELL_BYTES, n_bytes));
}

void tide_cell_count(tide_table *table, int64_t count) {
    add_cell(table, integer_cell(TIDE_CELL_COUNT, count));
}

void tide_cell_change(tide_table *table, int64_t n_bytes) {
    add_cell(table, integer_cell(TIDE_CELL_CHANGE, n_bytes));
}

void tide_cell_percent(tide_table *table, double percent) {
    add_cell(table, real_cell(TIDE_CELL_PERCENT, percent));
}

void tide_cell_ms(tide_table *table, double ms) {
    add_cell(table, known_real(TIDE_CELL_MS, ms));
}

void tide_cell_ratio(tide_table *table, double ratio) {
    add_cell(table, known_real(TIDE_CELL_RATIO, ratio));
}

void tide_cell_real(tide_table *table, double number) {
    add_cell(table, known_real(TIDE_CELL_REAL, number));
}

void tide_cell_ns(tide_table *table, double ns) {
    add_cell(table, known_real(TIDE_CELL_NS, ns));
}

void tide_cell_loss(tide_table *table, double loss) {
    add_cell(table, real_cell(TIDE_CELL_LOSS, loss));
}

void tide_cell_error(tide_table *table, double error) {
    add_cell(table, real_cell(TIDE_CELL_ERROR, error));
}

void tide_cell_none(tide_table *table) {
    add_cell(table, (tide_cell){.kind = TIDE_CELL_NONE});
}

/* ---- figures ---- */

static void add_figure(tide_report *report, const char *key, tide_cell cell) {
    tide_report_figure *figure = take(report, 1, sizeof(*figure));
    if (figure == NULL) {
        return;
    }
    *figure = (tide_report_figure){.key = keep_exact(report, key), .cell = cell};
    if (report->last_figure != NULL) {
        report->last_figure->next = figure;
    } else {
        report->figures = figure;
    }
    report->last_figure = figure;
}

void tide_report_figure_bytes(tide_report *report, const char *key, int64_t n_bytes) {
    add_figure(report, key, known_integer(TIDE_CELL_BYTES, n_bytes));
}

void tide_report_figure_count(tide_report *report, const char *key, int64_t count) {
    add_figure(report, key, known_integer(TIDE_CELL_COUNT, count));
}

void tide_report_figure_ns(tide_report *report, const char *key, int64_t ns) {
    add_figure(report, key, known_integer(TIDE_CELL_COUNT, ns));
}

void tide_report_figure_ns_of_ms(tide_report *report, const char *key, double ms) {
    /* 2^62 ns are 146 years: what is longer, or not a number, is no time. */
    bool is_known = ms >= 0.0 && ms < 0x1p62 * 1e-6;
    tide_report_figure_ns(report, key, is_known ? llround(ms * 1e6) : -1);
}

void tide_report_figure_real(tide_report *report, const char *key, double number) {
    add_figure(report, key, known_real(TIDE_CELL_REAL, number));
}

void tide_report_figure_text(tide_report *report, const char *key, const char *text) {
    bool is_known = text != NULL && text[0] != '\0';
    add_figure(report, key,
               is_known ? text_cell(report, text) : (tide_cell){.kind = TIDE_CELL_NONE});
}

/* "+1.93 GiB", "-512 B", "0 B" */
static const char *change_text(int64_t n_bytes, char buffer[TIDE_CELL_BYTES_TEXT]) {
    char size[TIDE_BYTES_TEXT];
    tide_bytes_format(n_bytes < 0 ? -n_bytes : n_bytes, size);
    snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%s%s",
             n_bytes < 0   ? "-"
             : n_bytes > 0 ? "+"
                           : "",
             size);
    return buffer;
}

const char *tide_cell_shown(const tide_cell *cell, char buffer[TIDE_CELL_BYTES_TEXT]) {
    switch (cell->kind) {
    case TIDE_CELL_TEXT:
        return cell->text;
    case TIDE_CELL_BYTES:
        return tide_bytes_format(cell->integer, buffer);
    case TIDE_CELL_COUNT:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%" PRId64, cell->integer);
        return buffer;
    case TIDE_CELL_CHANGE:
        return change_text(cell->integer, buffer);
    case TIDE_CELL_PERCENT:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%.1f %%", cell->real);
        return buffer;
    case TIDE_CELL_MS:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%.3f ms", cell->real);
        return buffer;
    case TIDE_CELL_RATIO:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, cell->real < 1000.0 ? "%.3f" : ">999", cell->real);
        return buffer;
    case TIDE_CELL_REAL:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, cell->real < 1e12 ? "%.3f" : "%.3e", cell->real);
        return buffer;
    case TIDE_CELL_NS:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%.1f", cell->real);
        return buffer;
    case TIDE_CELL_LOSS:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, isnan(cell->real) ? "nan" : "%.6f", cell->real);
        return buffer;
    case TIDE_CELL_ERROR:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, isnan(cell->real) ? "nan" : "%.1e", cell->real);
        return buffer;
    case TIDE_CELL_NONE:
        break;
    }
    return "-";
}

const char *tide_cell_plain(const tide_cell *cell, char buffer[TIDE_CELL_BYTES_TEXT]) {
    switch (cell->kind) {
    case TIDE_CELL_TEXT:
        return cell->exact;
    case TIDE_CELL_BYTES:
    case TIDE_CELL_COUNT:
    case TIDE_CELL_CHANGE:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%" PRId64, cell->integer);
        return buffer;
    case TIDE_CELL_PERCENT:
    case TIDE_CELL_MS:
    case TIDE_CELL_RATIO:
    case TIDE_CELL_REAL:
    case TIDE_CELL_NS:
    case TIDE_CELL_LOSS:
    case TIDE_CELL_ERROR:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, isnan(cell->real) ? "nan" : "%.9g", cell->real);
        return buffer;
    case TIDE_CELL_NONE:
        break;
    }
    return "";
}

/* ---- printing ---- */

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

/* The key of the i-th table; NULL past the last. */
static const char *table_at(const void *ctx, size_t i) {
    const tide_report *report = ctx;
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && item->table == tide_report_find(report, item->table->key) &&
            i-- == 0) {
            return item->table->key;
        }
    }
    return NULL;
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
