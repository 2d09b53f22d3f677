/* A report as LaTeX, with tables of booktabs. */
#include <string.h>

#include "report/table_internal.h"

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
