/* Reports as Markdown, CSV, LaTeX and JSON. */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/harmless.h"
#include "cli/table_internal.h"
#include "cli/terminal.h"
#include "common/text.h"
#include "snapshot/json_writer.h"

enum { REPORT_VERSION = 1 }; /* of the JSON; a name that changes its meaning raises it */

/* ---- Markdown ---- */

static void markdown_text(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '<') {
            fputs("&lt;", out);
            continue;
        }
        if (strchr("|\\`*[]", *text) != NULL) {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
}

static void markdown_table(const tide_table *table, FILE *out) {
    char buffer[TIDE_CELL_BYTES_TEXT];
    fputs("### ", out);
    markdown_text(out, table->title);
    fputs("\n\n|", out);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputc(' ', out);
        markdown_text(out, table->columns[i].title);
        fputs(" |", out);
    }
    fputs("\n|", out);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputs(table->columns[i].is_number ? "---:|" : "---|", out);
    }
    fputc('\n', out);
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        fputc('|', out);
        for (size_t i = 0; i < table->n_columns; i++) {
            fputc(' ', out);
            markdown_text(out, tide_cell_shown(&row->cells[i], buffer));
            fputs(" |", out);
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

void tide_report_print_markdown(const tide_report *report, const char *table, FILE *out) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (!tide_report_item_is_printed(item, table)) {
            continue;
        }
        if (item->table != NULL) {
            markdown_table(item->table, out);
        } else {
            markdown_text(out, item->text);
            fputs("\n\n", out);
        }
    }
}

/* ---- CSV (RFC 4180): one table, so that every reader of CSV takes it as it is ---- */

static void csv_field(FILE *out, const char *text) {
    if (strpbrk(text, ",\"\r\n#") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            fputc('"', out);
        }
        fputc(*text, out);
    }
    fputc('"', out);
}

/* Exact for programs; a terminal gets what people may see. */
static void csv_cell(FILE *out, const tide_cell *cell) {
    char buffer[TIDE_CELL_BYTES_TEXT];
    bool is_seen = cell->kind == TIDE_CELL_TEXT && tide_terminal_is_one(out);
    csv_field(out, is_seen ? cell->text : tide_cell_plain(cell, buffer));
}

static void csv_rows(const tide_table *table, FILE *out) {
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        for (size_t i = 0; i < table->n_columns; i++) {
            fputs(i > 0 ? "," : "", out);
            csv_cell(out, &row->cells[i]);
        }
        fputc('\n', out);
    }
}

/* What one table has no place for: every sentence, and which other tables there are. */
static void tell_rest(const tide_report *report, const tide_table *printed) {
    char others[512];
    tide_text to = tide_text_in(others, sizeof(others));
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table == NULL) {
            tide_cli_note(report->command, "%s", item->text);
        } else if (strcmp(item->table->key, printed->key) != 0 &&
                   item->table == tide_report_find(report, item->table->key)) {
            tide_text_add_item(&to, ", ", "%s", item->table->key);
        }
    }
    if (others[0] != '\0') {
        tide_cli_note(report->command, "printed is the table %s; --table prints one of: %s",
                      printed->key, others);
    }
}

void tide_report_print_csv(const tide_report *report, const char *table, FILE *out) {
    const tide_table *first = tide_report_find(report, table);
    if (first == NULL) {
        return;
    }
    for (size_t i = 0; i < first->n_columns; i++) {
        fputs(i > 0 ? "," : "", out);
        csv_field(out, first->columns[i].key);
    }
    fputs("\n", out);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && strcmp(item->table->key, first->key) == 0) {
            csv_rows(item->table, out);
        }
    }
    if (table == NULL) {
        (void)fflush(out); /* the notes come after the table where both go to one place */
        tell_rest(report, first);
    }
}

/* ---- LaTeX (booktabs) ---- */

static void latex_text(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '\\':
            fputs("\\textbackslash{}", out);
            break;
        case '~':
            fputs("\\textasciitilde{}", out);
            break;
        case '^':
            fputs("\\textasciicircum{}", out);
            break;
        case '<':
            fputs("\\textless{}", out);
            break;
        case '>':
            fputs("\\textgreater{}", out);
            break;
        default:
            if (strchr("&%$#_{}", *text) != NULL) {
                fputc('\\', out);
            }
            fputc(*text, out);
        }
    }
}

static void latex_table(const tide_table *table, FILE *out) {
    char buffer[TIDE_CELL_BYTES_TEXT];
    fputs("\\begin{table}\n\\caption{", out);
    latex_text(out, table->title);
    fputs("}\n\\begin{tabular}{", out);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputc(table->columns[i].is_number ? 'r' : 'l', out);
    }
    fputs("}\n\\toprule\n", out);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputs(i > 0 ? " & " : "", out);
        latex_text(out, table->columns[i].title);
    }
    fputs(" \\\\\n\\midrule\n", out);
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        for (size_t i = 0; i < table->n_columns; i++) {
            fputs(i > 0 ? " & " : "", out);
            latex_text(out, tide_cell_shown(&row->cells[i], buffer));
        }
        fputs(" \\\\\n", out);
    }
    fputs("\\bottomrule\n\\end{tabular}\n\\end{table}\n\n", out);
}

void tide_report_print_latex(const tide_report *report, const char *table, FILE *out) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (!tide_report_item_is_printed(item, table)) {
            continue;
        }
        if (item->table != NULL) {
            latex_table(item->table, out);
        } else {
            latex_text(out, item->text);
            fputs("\n\n", out);
        }
    }
}

/* ---- JSON: what docs/json.md describes ---- */

static tide_status to_file(void *ctx, const char *text, size_t n_bytes) {
    tide_harmless *to = ctx;
    tide_harmless_write(to, text, n_bytes);
    return ferror(to->out) ? TIDE_IO : TIDE_OK;
}

static void json_cell(tide_json_writer *json, const tide_cell *cell) {
    switch (cell->kind) {
    case TIDE_CELL_TEXT:
        tide_json_text(json, cell->exact);
        break;
    case TIDE_CELL_BYTES:
    case TIDE_CELL_COUNT:
    case TIDE_CELL_CHANGE:
        tide_json_integer(json, cell->integer);
        break;
    case TIDE_CELL_NONE:
        tide_json_null(json);
        break;
    default: /* JSON has no word for a number that is not finite */
        if (isfinite(cell->real)) {
            tide_json_real(json, cell->real);
        } else {
            tide_json_null(json);
        }
        break;
    }
}

static void json_rows(tide_json_writer *json, const tide_table *table) {
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        tide_json_line(json);
        tide_json_begin_object(json);
        for (size_t i = 0; i < table->n_columns; i++) {
            tide_json_key(json, table->columns[i].key);
            json_cell(json, &row->cells[i]);
        }
        tide_json_end_object(json);
    }
}

/* All parts of the table that begins with `first`. */
static void json_table(tide_json_writer *json, const tide_report *report, const tide_table *first) {
    tide_json_line(json);
    tide_json_key(json, first->key);
    tide_json_begin_object(json);
    tide_json_key_text(json, "title", first->title);
    tide_json_key(json, "columns");
    tide_json_begin_array(json);
    for (size_t i = 0; i < first->n_columns; i++) {
        tide_json_text(json, first->columns[i].key);
    }
    tide_json_end_array(json);
    tide_json_key(json, "rows");
    tide_json_begin_array(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && strcmp(item->table->key, first->key) == 0) {
            json_rows(json, item->table);
        }
    }
    tide_json_end_array(json);
    tide_json_end_object(json);
}

static void json_figures(tide_json_writer *json, const tide_report *report) {
    tide_json_key(json, "figures");
    tide_json_begin_object(json);
    for (const tide_report_figure *figure = report->figures; figure != NULL;
         figure = figure->next) {
        tide_json_line(json);
        tide_json_key(json, figure->key);
        json_cell(json, &figure->cell);
    }
    tide_json_end_object(json);
}

static const tide_report_item *first_sentence(const tide_report *report, const char *key) {
    const tide_report_item *item = report->first;
    while (item->table != NULL || strcmp(item->key, key) != 0) {
        item = item->next;
    }
    return item;
}

/* Several sentences may have one key, so that each key has a list. */
static void json_sentences(tide_json_writer *json, const tide_report *report) {
    tide_json_key(json, "sentences");
    tide_json_begin_object(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL || item != first_sentence(report, item->key)) {
            continue;
        }
        tide_json_line(json);
        tide_json_key(json, item->key);
        tide_json_begin_array(json);
        for (const tide_report_item *same = item; same != NULL; same = same->next) {
            if (same->table == NULL && strcmp(same->key, item->key) == 0) {
                tide_json_text(json, same->text);
            }
        }
        tide_json_end_array(json);
    }
    tide_json_end_object(json);
}

static void json_report(tide_json_writer *json, const tide_report *report) {
    tide_json_begin_object(json);
    tide_json_key_text(json, "format", "tidemark-report");
    tide_json_key(json, "version");
    tide_json_integer(json, REPORT_VERSION);
    tide_json_key_text(json, "command", report->command);
    json_figures(json, report);
    tide_json_line(json);
    tide_json_key(json, "tables");
    tide_json_begin_object(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL && item->table == tide_report_find(report, item->table->key)) {
            json_table(json, report, item->table);
        }
    }
    tide_json_end_object(json);
    tide_json_line(json);
    json_sentences(json, report);
    tide_json_end_object(json);
}

tide_status tide_report_print_json(const tide_report *report, FILE *out) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_json_writer *json = mem->alloc(mem->ctx, sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_harmless to; /* its escapes are those of JSON */
    tide_harmless_begin(&to, out);
    tide_json_writer_init(json, to_file, &to);
    json_report(json, report);
    tide_status status = tide_json_writer_finish(json);
    tide_harmless_end(&to);
    fputc('\n', out);
    mem->release(mem->ctx, json);
    /* What could not be written, the caller finds in `out`. */
    return status == TIDE_IO ? TIDE_OK : status;
}
