/* table.h - reports: figures, tables and sentences, printed as text, Markdown, CSV, LaTeX or JSON
 * with the same rows in the same order.
 *
 * Text, Markdown and LaTeX are for people: bytes are shown as "1.93 GiB", and figures are left out,
 * as sentences and tables hold them. CSV and JSON are for programs: bytes are integers, columns
 * have the names of keys, and docs/json.md lists all names. CSV is one table; JSON is everything.
 * Texts may come from a file that nobody checked: what has a meaning in the format is escaped, and
 * what a terminal would obey is replaced (harmless.h), except in the cells of CSV and JSON written
 * to a file or pipe: those are exact.
 * On a terminal the tables of text fit its width, unless the format is wide.
 * A failed allocation sticks; tide_report_print returns it.
 */
#ifndef TIDE_REPORT_TABLE_H
#define TIDE_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/arena.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TABLE_MAX_COLUMNS = 272 }; /* further ones are left out */

typedef enum tide_format_kind {
    TIDE_FORMAT_TEXT = 0,
    TIDE_FORMAT_MARKDOWN,
    TIDE_FORMAT_CSV,
    TIDE_FORMAT_LATEX,
    TIDE_FORMAT_JSON,
    TIDE_N_FORMATS
} tide_format_kind;

/* How a report is printed. Zero is text, whole. */
typedef struct tide_format {
    tide_format_kind kind;
    bool is_wide;      /* text with every cell whole, also on a narrow terminal */
    const char *table; /* the one table to print, borrowed; NULL: all, in CSV the first */
} tide_format;

/* "text", "markdown", ...; NULL past the last: the choices of an option. */
const char *tide_format_name(size_t i);
/* The number of a name, or -1. */
int tide_format_from_name(const char *name);

/* The format is read by a program, which gets columns that people have no use for. */
bool tide_format_is_for_programs(tide_format format);

typedef enum tide_cell_kind {
    TIDE_CELL_NONE = 0, /* "-"; empty in CSV, null in JSON */
    TIDE_CELL_TEXT,
    TIDE_CELL_BYTES,   /* integer; below 0: none */
    TIDE_CELL_COUNT,   /* integer */
    TIDE_CELL_CHANGE,  /* integer, bytes: "+1.93 GiB" */
    TIDE_CELL_PERCENT, /* real: 12.5 is "12.5 %" */
    TIDE_CELL_MS,      /* real, milliseconds: 12.5 is "12.500 ms"; below 0: none */
    TIDE_CELL_RATIO,   /* real: 0.5 is "0.500"; below 0: none */
    TIDE_CELL_REAL,    /* real, of any unit: 99999 is "99999.000"; below 0: none */
    TIDE_CELL_NS,   /* real, a figure whose unit the column's title says: 61.34 is "61.3"; below 0:
                       none */
    TIDE_CELL_LOSS, /* real: 9.28 is "9.280000"; NaN is "nan", null in JSON */
    TIDE_CELL_ERROR /* real: 2.5e-7 is "2.5e-07"; NaN is "nan", null in JSON */
} tide_cell_kind;

typedef struct tide_cell {
    tide_cell_kind kind; /* says which of the others counts */
    const char *text;    /* in the report's arena; harmless */
    const char *exact;   /* the same, as it was given */
    int64_t integer;
    double real;
} tide_cell;

typedef struct tide_column {
    const char *key;   /* in CSV and JSON */
    const char *title; /* for people */
    bool is_number;    /* set to the right */
} tide_column;

typedef struct tide_table_row tide_table_row;
struct tide_table_row {
    tide_table_row *next; /* in the arena */
    size_t n_cells;       /* filled so far; the rest are NONE */
    tide_cell *cells;     /* as many as columns */
};

typedef struct tide_report tide_report;

typedef struct tide_table {
    tide_report *report; /* it belongs to */
    const char *key;     /* for --table and in JSON; tables of one key are parts of one table */
    const char *title;   /* for people */
    tide_column columns[TIDE_TABLE_MAX_COLUMNS];
    size_t n_columns;
    tide_table_row *first, *last; /* rows in the arena; NULL while empty */
    size_t n_rows;
} tide_table;

/* A report for one command. */
struct tide_report {
    const char *command;                /* its name; borrowed */
    tide_arena arena;                   /* figures, tables, rows and texts */
    bool no_memory;                     /* something is missing */
    struct tide_report_figure *figures; /* in the order they were added; in the arena */
    struct tide_report_figure *last_figure;
    struct tide_report_item *first; /* in the order they were added; in the arena */
    struct tide_report_item *last;
};

/* `command` must outlive the report. */
void tide_report_init(tide_report *report, const char *command);
void tide_report_fini(tide_report *report);

/* A sentence. `key`: its name in JSON, such as "peak"; several may have the same. */
void tide_report_say(tide_report *report, const char *key, const char *format, ...)
    TIDE_PRINTF(3, 4);

/* A main figure of the report under a stable name; only JSON prints it. A value that is not known
 * (below 0; NULL or "") is null there. */
void tide_report_figure_bytes(tide_report *report, const char *key, int64_t n_bytes);
void tide_report_figure_count(tide_report *report, const char *key, int64_t count);
void tide_report_figure_ns(tide_report *report, const char *key, int64_t ns);
/* The same of milliseconds, rounded to whole nanoseconds. */
void tide_report_figure_ns_of_ms(tide_report *report, const char *key, double ms);
void tide_report_figure_real(tide_report *report, const char *key, double number);
void tide_report_figure_text(tide_report *report, const char *key, const char *text);

/* An empty table; NULL when there is no memory, which the functions below accept. Titles, keys and
 * texts are copied. */
tide_table *tide_report_table(tide_report *report, const char *key, const char *title);
/* Before the first row. */
void tide_table_column(tide_table *table, const char *key, const char *title, bool is_number);
void tide_table_row_begin(tide_table *table);
/* The next cell of the row at hand. */
void tide_cell_text(tide_table *table, const char *text);
void tide_cell_bytes(tide_table *table, int64_t n_bytes);
void tide_cell_count(tide_table *table, int64_t count);
void tide_cell_change(tide_table *table, int64_t n_bytes);
void tide_cell_percent(tide_table *table, double percent);
void tide_cell_ms(tide_table *table, double ms);
void tide_cell_ratio(tide_table *table, double ratio);
void tide_cell_real(tide_table *table, double number); /* of any unit; below 0: none */
void tide_cell_ns(tide_table *table, double ns);
void tide_cell_loss(tide_table *table, double loss);
void tide_cell_error(tide_table *table, double error);
void tide_cell_none(tide_table *table);

/* Prints the report. With CSV, `out` gets one table, and `notes` the sentences and the names of the
 * other tables, each behind "tidemark COMMAND: ". TIDE_NO_MEMORY when the report is incomplete, and
 * TIDE_INVALID when it has no table of the name that the format asks for: then nothing is printed.
 * Errors of `out` are the caller's to find. */
TIDE_NODISCARD tide_status tide_report_print(const tide_report *report, tide_format format,
                                             FILE *out, FILE *notes, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
