/* Reports as Markdown, CSV, LaTeX and JSON. */
#include <math.h>
#include <string.h>

#include "cli/harmless.h"
#include "cli/table_internal.h"
#include "cli/terminal.h"
#include "snapshot/json_writer.h"

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

void tide_report_print_markdown(const tide_report *report, FILE *out) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL) {
            markdown_table(item->table, out);
        } else {
            markdown_text(out, item->text);
            fputs("\n\n", out);
        }
    }
}

/* ---- CSV (RFC 4180); sentences and titles are lines that begin with # ---- */

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

static void csv_table(const tide_table *table, FILE *out) {
    fprintf(out, "# %s\n", table->title);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputs(i > 0 ? "," : "", out);
        csv_field(out, table->columns[i].key);
    }
    fputc('\n', out);
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        for (size_t i = 0; i < table->n_columns; i++) {
            fputs(i > 0 ? "," : "", out);
            csv_cell(out, &row->cells[i]);
        }
        fputc('\n', out);
    }
}

void tide_report_print_csv(const tide_report *report, FILE *out) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL) {
            csv_table(item->table, out);
        } else {
            fprintf(out, "# %s\n", item->text);
        }
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

void tide_report_print_latex(const tide_report *report, FILE *out) {
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL) {
            latex_table(item->table, out);
        } else {
            latex_text(out, item->text);
            fputs("\n\n", out);
        }
    }
}

/* ---- JSON: {"sentences": [{key, text}], "tables": [{key, title, rows: [{column: value}]}]} ----
 */

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
    case TIDE_CELL_PERCENT:
    case TIDE_CELL_MS:
    case TIDE_CELL_RATIO:
    case TIDE_CELL_REAL:
    case TIDE_CELL_NS:
        tide_json_real(json, cell->real);
        break;
    case TIDE_CELL_LOSS:
    case TIDE_CELL_ERROR:
        if (isfinite(cell->real)) {
            tide_json_real(json, cell->real);
        } else {
            tide_json_null(json);
        }
        break;
    case TIDE_CELL_NONE:
        tide_json_null(json);
        break;
    }
}

static void json_table(tide_json_writer *json, const tide_table *table) {
    tide_json_line(json);
    tide_json_begin_object(json);
    tide_json_key_text(json, "key", table->key);
    tide_json_key_text(json, "title", table->title);
    tide_json_key(json, "rows");
    tide_json_begin_array(json);
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        tide_json_line(json);
        tide_json_begin_object(json);
        for (size_t i = 0; i < table->n_columns; i++) {
            tide_json_key(json, table->columns[i].key);
            json_cell(json, &row->cells[i]);
        }
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_end_object(json);
}

static void json_report(tide_json_writer *json, const tide_report *report) {
    tide_json_begin_object(json);
    tide_json_key(json, "sentences");
    tide_json_begin_array(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table == NULL) {
            tide_json_line(json);
            tide_json_begin_object(json);
            tide_json_key_text(json, "key", item->key);
            tide_json_key_text(json, "text", item->text);
            tide_json_end_object(json);
        }
    }
    tide_json_end_array(json);
    tide_json_key(json, "tables");
    tide_json_begin_array(json);
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table != NULL) {
            json_table(json, item->table);
        }
    }
    tide_json_end_array(json);
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
