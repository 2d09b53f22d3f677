/* table_internal.h - the data between building a report and printing it. */
#ifndef TIDE_REPORT_TABLE_INTERNAL_H
#define TIDE_REPORT_TABLE_INTERNAL_H

#include "report/table.h"

typedef struct tide_report_figure tide_report_figure;

/* A figure: its value is a cell, as in a table. */
struct tide_report_figure {
    tide_report_figure *next; /* in the arena */
    const char *key;          /* in JSON */
    tide_cell cell;
};

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

/* The first table of that key (NULL: of any); NULL if there is none. */
const tide_table *tide_report_find(const tide_report *report, const char *key);
/* Whether the item is printed if `table` is requested (NULL: everything). */
bool tide_report_item_is_printed(const tide_report_item *item, const char *table);

void tide_report_print_text(const tide_report *report, const tide_format *format, FILE *out);
/* The same on a terminal with that many columns; 0: no limit. `is_utf8`: it shows an ellipsis. */
void tide_report_print_within(const tide_report *report, const char *table, size_t room,
                              bool is_utf8, FILE *out);

/* `table`: the key of the only table to print; NULL: everything, in CSV the first table. */
void tide_report_print_markdown(const tide_report *report, const char *table, FILE *out);
void tide_report_print_csv(const tide_report *report, const char *table, FILE *out, FILE *notes);
void tide_report_print_latex(const tide_report *report, const char *table, FILE *out);
TIDE_NODISCARD tide_status tide_report_print_json(const tide_report *report, FILE *out);

#endif
