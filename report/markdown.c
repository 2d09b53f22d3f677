/* A report as Markdown. */
#include <string.h>

#include "report/table_internal.h"

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
