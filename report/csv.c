/* A report as CSV (RFC 4180): one table, for every reader of CSV. */
#include <string.h>

#include "common/text/text.h"
#include "report/table_internal.h"
#include "report/terminal.h"

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

/* Exact for programs; a terminal gets the harmless text. */
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

/* The parts that do not fit in a table: every sentence, and the names of the other tables. */
static void tell_rest(const tide_report *report, const tide_table *printed, FILE *notes) {
    char others[512];
    tide_text to = tide_text_in(others, sizeof(others));
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (item->table == NULL) {
            fprintf(notes, "tidemark %s: %s\n", report->command, item->text);
        } else if (strcmp(item->table->key, printed->key) != 0 &&
                   item->table == tide_report_find(report, item->table->key)) {
            tide_text_add_item(&to, ", ", "%s", item->table->key);
        }
    }
    if (others[0] != '\0') {
        fprintf(notes, "tidemark %s: printed is the table %s; --table prints one of: %s\n",
                report->command, printed->key, others);
    }
}

void tide_report_print_csv(const tide_report *report, const char *table, FILE *out, FILE *notes) {
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
        (void)fflush(out); /* the notes follow the table if both go to the same file */
        tell_rest(report, first, notes);
    }
}
