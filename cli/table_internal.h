/* table_internal.h - between building a report and printing it.
 */
#ifndef TIDE_CLI_TABLE_INTERNAL_H
#define TIDE_CLI_TABLE_INTERNAL_H

#include "cli/table.h"

typedef struct tide_report_item tide_report_item;

/* A sentence or a table. */
struct tide_report_item {
    tide_report_item *next; /* in the arena */
    const char *key;        /* of the sentence */
    const char *text;       /* the sentence; NULL for a table */
    tide_table *table;      /* in the arena; NULL for a sentence */
};

enum { TIDE_CELL_BYTES_TEXT = 64 }; /* room for a number as people read it */

/* A cell as people read it: its own text, or `buffer`. */
const char *tide_cell_shown(const tide_cell *cell, char buffer[TIDE_CELL_BYTES_TEXT]);
/* A cell as programs read it in CSV. */
const char *tide_cell_plain(const tide_cell *cell, char buffer[TIDE_CELL_BYTES_TEXT]);

/* `is_wide`: every cell whole, also on a terminal. */
void tide_report_print_text(const tide_report *report, bool is_wide, FILE *out);
/* The same on a terminal of that many columns; 0: no bound. `is_utf8`: it shows an ellipsis. */
void tide_report_print_within(const tide_report *report, size_t room, bool is_utf8, FILE *out);

void tide_report_print_markdown(const tide_report *report, FILE *out);
void tide_report_print_csv(const tide_report *report, FILE *out);
void tide_report_print_latex(const tide_report *report, FILE *out);
TIDE_NODISCARD tide_status tide_report_print_json(const tide_report *report, FILE *out);

#endif
